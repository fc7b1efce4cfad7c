"""API tokens."""

from django.conf import settings
from django.db import models

from controlplane.identity.models.project import Project
from controlplane.infra.models import UuidKeyed


class Token(UuidKeyed):
    """A secret that identifies a user in a project until it expires or is revoked.

    Only its SHA-256 is here. `last_used_at` is written once in some minutes, not at each use.
    """

    digest = models.CharField(max_length=64, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tokens")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked = models.BooleanField(default=False)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"token of {self.user} for {self.project}"
