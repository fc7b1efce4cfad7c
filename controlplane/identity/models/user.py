"""A person or a program that logs in."""

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.utils.translation import gettext_lazy as _

from controlplane.infra.models import Timestamped, UuidKeyed
from controlplane.kernel.time_zones import time_zone_problem


def time_zone_validate(name: str) -> None:
    """Raises ValidationError for what is no time zone."""
    if problem := time_zone_problem(name):
        raise ValidationError(f"It {problem}.")


class UserManager(BaseUserManager["User"]):
    """Makes users. Django's own commands call it; our code goes through the services."""

    def create_user(self, username: str, email: str = "", password: str | None = None, **fields: Any) -> "User":
        """A user without any power. No password means that nobody can log in with one."""
        username = self.model.normalize_username(username)
        user = self.model(username=username, email=self.normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, username: str, email: str = "", password: str | None = None, **fields: Any) -> "User":
        """A user who may do everything, in the Django admin too."""
        return self.create_user(username, email, password, **{"is_staff": True, "is_superuser": True, **fields})


class User(UuidKeyed, Timestamped, AbstractBaseUser, PermissionsMixin):
    """Who logs in. What they may do is in their role assignments; a superuser is admin in every project.

    `is_staff` opens the Django admin; `is_active` off ends every access at once, tokens and sessions included.
    """

    username = models.CharField(
        max_length=150,
        unique=True,
        validators=[UnicodeUsernameValidator()],
        help_text=_("At most 150 letters, digits and @ . + - _"),
        error_messages={"unique": "A user with this name exists already."},
    )
    email = models.EmailField(blank=True)
    is_active = models.BooleanField("active", default=True, help_text=_("Off: the user is refused everywhere."))
    is_staff = models.BooleanField("staff", default=False, help_text=_("May open the Django admin."))

    default_project = models.ForeignKey(
        "identity.Project",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("Where the user works when no project is named, while there is a role in it."),
    )

    time_zone = models.CharField(
        max_length=64,
        blank=True,
        validators=[time_zone_validate],
        help_text=_("Pages show times in it: an IANA name such as Europe/Berlin. Empty: the installation's."),
    )

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "username"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        ordering = ["username"]

    def __str__(self) -> str:
        return self.username

    @transaction.atomic
    def save(self, **options: Any) -> None:
        """Save. A new password ends the user's tokens here, so that it does so whoever sets it."""
        has_new_password = getattr(self, "_password", None) is not None and not self._state.adding
        super().save(**options)
        if has_new_password:
            self.tokens.all().delete()
