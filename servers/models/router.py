"""Routers, and outside addresses that stand for a port's own."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped, UuidKeyed
from servers.models.network import Network
from servers.models.port import Port
from servers.models.tagged import Tagged
from servers.networks.domain.names import FloatingStatus


class Router(UuidKeyed, Timestamped, Tagged):
    """API scope. Its legs are ports with `router`. Of networks of kind bridge it lives on one `host`."""

    project = models.ForeignKey("identity.Project", on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=255, blank=True)
    description = models.CharField(max_length=255, blank=True)
    is_enabled = models.BooleanField(default=True)
    external_network = models.ForeignKey(
        Network, null=True, blank=True, on_delete=models.PROTECT, related_name="+", help_text=_("Where its gateway is.")
    )
    has_snat = models.BooleanField(
        default=True, help_text=_("Guests without a floating address go out under the gateway's own.")
    )
    routes = JsonField(default=list, blank=True, help_text=_("Objects of `destination` and `nexthop`."))
    host = models.CharField(max_length=255, blank=True, db_index=True)
    host_reason = models.TextField(blank=True, help_text=_("Why it is where it is."))
    problem = models.TextField(blank=True, help_text=_("What its host could not do, or why no host has it."))

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name or str(self.pk)


class FloatingIP(UuidKeyed, Timestamped, Tagged):
    """API scope. An address of an external network, held by a port of its own, that stands for an address of `port`."""

    project = models.ForeignKey("identity.Project", on_delete=models.PROTECT, related_name="+")
    description = models.CharField(max_length=255, blank=True)
    network = models.ForeignKey(Network, on_delete=models.PROTECT, related_name="+")
    address_port = models.OneToOneField(Port, on_delete=models.PROTECT, related_name="+")
    address = models.GenericIPAddressField()
    port = models.ForeignKey(Port, null=True, blank=True, on_delete=models.SET_NULL, related_name="floating_ips")
    fixed_address = models.GenericIPAddressField(null=True, blank=True)
    router = models.ForeignKey(Router, null=True, blank=True, on_delete=models.PROTECT, related_name="floating_ips")
    status = models.CharField(
        max_length=8,
        choices=[(status.value, status.value) for status in FloatingStatus],
        default=FloatingStatus.DOWN.value,
    )

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["port", "fixed_address"],
                condition=models.Q(port__isnull=False),
                name="floating_ip_once_per_address",
                violation_error_message="The address has a floating address already.",
            )
        ]
        indexes = [models.Index(fields=["address"], name="floating_address")]

    def __str__(self) -> str:
        return self.address
