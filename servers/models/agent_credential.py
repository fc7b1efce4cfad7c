"""How the agents of hypervisors prove who they are: one-time tokens, and the secret of each host."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.models import UuidKeyed


class AgentEnrolment(UuidKeyed):
    """A one-time token by which the agent of one host gets a secret. Only its SHA-256 is here; rows stay as a record.

    `secret_digest` is the secret that it was traded for: the same trade asked for again has the same effect.
    """

    host = models.CharField(max_length=255, db_index=True)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    secret_digest = models.CharField(max_length=64, blank=True, editable=False)
    created_by_id = models.UUIDField(null=True, blank=True, help_text=_("The user who made it; empty: a command."))
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "id"]

    def __str__(self) -> str:
        return f"enrolment of {self.host}"


class AgentCredential(UuidKeyed):
    """The secret of the agent of one host, as its SHA-256. After a rotation the one before it holds for a while."""

    host = models.CharField(max_length=255, unique=True)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    previous_digest = models.CharField(max_length=64, blank=True, db_index=True, editable=False)
    previous_until = models.DateTimeField(null=True, blank=True, editable=False)
    enrolled_at = models.DateTimeField()
    rotated_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by_id = models.UUIDField(null=True, blank=True, help_text=_("The user who revoked it; empty: a command."))
    refused_version = models.CharField(
        max_length=20,
        blank=True,
        help_text=_("The protocol that it spoke when it was refused as too old or too new; empty: it fits."),
    )
    refused_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["host"]

    def __str__(self) -> str:
        return f"secret of {self.host}"
