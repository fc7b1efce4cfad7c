"""Application credentials."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.identity.domain.application_credential import DESCRIPTION_MAX, NAME_MAX
from controlplane.identity.models.project import Project
from controlplane.infra.models import Timestamped, UuidKeyed


class ApplicationCredential(UuidKeyed, Timestamped):
    """What a program logs in with in place of its owner's password: in one project, with some of the owner's roles.

    Only the SHA-256 of the secret is here. `roles` are names with commas. It is good for nothing while its owner lacks
    one of these roles, is switched off, or the project is; a new password of the owner leaves it as it is.
    """

    digest = models.CharField(max_length=64, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="application_credentials")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="application_credentials")
    name = models.CharField(max_length=NAME_MAX)
    description = models.CharField(max_length=DESCRIPTION_MAX, blank=True)
    roles = models.CharField(max_length=80)
    expires_at = models.DateTimeField(null=True, blank=True, db_index=True, help_text=_("Empty: it does not expire."))
    unrestricted = models.BooleanField(
        default=False, help_text=_("On: its tokens may make and delete application credentials.")
    )

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "name"],
                name="application_credential_name_once",
                violation_error_message="The user has an application credential of this name already.",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.user_id}"
