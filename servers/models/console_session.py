"""Sessions of consoles that people type into: who, where, since when, and why they ended."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from computeagent.protocol.consoles import ConsoleKind
from controlplane.infra.models import UuidKeyed


class ConsoleSession(UuidKeyed):
    """API scope. It is allowed, opened by whoever has its token, connected by its guest's host, and ended. Of the token
    only a digest is kept, and it opens once.
    """

    instance_uuid = models.UUIDField(db_index=True)
    instance_name = models.CharField(max_length=255, blank=True)
    project = models.ForeignKey("identity.Project", on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey("identity.User", on_delete=models.CASCADE, related_name="+")
    caller_project = models.ForeignKey(
        "identity.Project", on_delete=models.CASCADE, related_name="+", help_text=_("In which its user asked for it.")
    )
    kind = models.CharField(max_length=8, choices=[(kind.value, kind.value) for kind in ConsoleKind])
    is_read_only = models.BooleanField(default=False)
    host = models.CharField(max_length=255)
    token_digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    expires_at = models.DateTimeField(help_text=_("Until when the token opens it."))
    opened_at = models.DateTimeField(null=True, blank=True)
    client_address = models.GenericIPAddressField(null=True, blank=True)
    holder = models.CharField(
        max_length=200, blank=True, help_text=_("Where the web process that has it can be reached.")
    )
    connected_at = models.DateTimeField(null=True, blank=True, help_text=_("When the host came."))
    seen_at = models.DateTimeField(
        null=True, blank=True, help_text=_("When its web process last said that it is open.")
    )
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_because = models.CharField(max_length=255, blank=True)
    host_error = models.CharField(
        max_length=500, blank=True, help_text=_("Why the host could not open it. For administrators.")
    )

    class Meta:
        ordering = ["-created_at", "id"]
        indexes = [
            models.Index(
                fields=["host"],
                condition=models.Q(opened_at__isnull=False, connected_at__isnull=True, ended_at__isnull=True),
                name="console_waits_for_host",
            ),
            models.Index(fields=["seen_at"], condition=models.Q(ended_at__isnull=True), name="console_open"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.instance_uuid}"
