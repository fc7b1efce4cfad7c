"""API tokens."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.identity.models.application_credential import ApplicationCredential
from controlplane.identity.models.project import Project
from controlplane.infra.models import UuidKeyed


class Token(UuidKeyed):
    """A secret that identifies a user in a project, or in the system, until it expires or is revoked. In neither it is
    good for asking where its user has a role, and for a token of such a scope.

    Only its SHA-256 is here. `last_used_at` is written once in some minutes, not at each use.
    """

    digest = models.CharField(max_length=64, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tokens", null=True, blank=True)
    is_system = models.BooleanField(
        "system", default=False, editable=False, help_text=_("On: it is good for the system, and for no project.")
    )
    methods = models.CharField(
        max_length=60,
        default="password",
        editable=False,
        help_text=_("How its holder was known, as Keystone names it."),
    )
    application_credential = models.ForeignKey(
        ApplicationCredential,
        on_delete=models.CASCADE,
        related_name="tokens",
        null=True,
        blank=True,
        editable=False,
        help_text=_("What it was got by, where that was one: the token has its roles, and ends with it."),
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked = models.BooleanField(default=False)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(project=None) | models.Q(is_system=False),
                name="token_has_one_scope",
                violation_error_message="A token is for a project or for the system.",
            )
        ]

    def __str__(self) -> str:
        return f"token of {self.user} for {self.project or ('the system' if self.is_system else 'no project')}"
