"""A service: the agent process of one host, as the control plane knows it."""

from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from controlplane.infra.models import Timestamped, UuidKeyed

COMPUTE_BINARY = "nova-compute"


class Service(UuidKeyed, Timestamped):
    """Cell scope. Up or down is never stored: it follows from `forced_down` and `last_seen_up`
    by the database's clock (`scheduling.fleet.selectors.liveness`). `down_noted_at` says that its being down was told.

    `disabled` is an operator's word (no new instances), `forced_down` a fencing device's or operator's word
    that the host is dead whatever it says.
    """

    host = models.CharField(max_length=255)
    binary = models.CharField(max_length=255, default=COMPUTE_BINARY)
    disabled = models.BooleanField(default=False)
    disabled_reason = models.CharField(max_length=255, blank=True)
    forced_down = models.BooleanField(default=False)
    last_seen_up = models.DateTimeField(null=True, blank=True, help_text=_("By the database's clock."))
    down_noted_at = models.DateTimeField(
        null=True, blank=True, help_text=_("When it was told that this service is down; empty while it is up.")
    )
    version = models.PositiveIntegerField(default=0)
    report_count = models.PositiveBigIntegerField(default=0, help_text=_("Heartbeats since it was first registered."))

    class Meta:
        ordering = ["host", "binary"]
        constraints = [
            models.UniqueConstraint(
                fields=["host", "binary"],
                name="service_once_per_host",
                violation_error_message="This host has a service of this name already.",
            ),
            models.UniqueConstraint(
                Lower("host"),
                models.F("binary"),
                name="service_once_whatever_case",
                violation_error_message="A host of this name, but for capitals, has a service of this name already.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.binary} on {self.host}"
