"""Ports: what connects an instance, a router or a floating address to a network."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from computeagent.protocol.networks import PortStatus
from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped, UuidKeyed
from servers.models.network import Network, Subnet
from servers.models.tagged import Tagged
from servers.networks.domain.names import PortOwner, VnicType


class Port(UuidKeyed, Timestamped, Tagged):
    """API scope. `network_name` and `hypervisor_network` are copies for what reads many. An instance's port has its
    `instance_uuid`, a router's its `router`; `host` is where it is bound, empty while it is nowhere.
    """

    network = models.ForeignKey(Network, null=True, blank=True, on_delete=models.PROTECT, related_name="ports")
    project = models.ForeignKey("identity.Project", null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=255, blank=True)
    description = models.CharField(max_length=255, blank=True)
    mac = models.CharField(max_length=17)
    owner = models.CharField(
        max_length=32,
        blank=True,
        choices=[(owner.value, owner.value) for owner in PortOwner],
        default=PortOwner.INSTANCE.value,
    )
    instance_uuid = models.UUIDField(null=True, blank=True, db_index=True)
    router = models.ForeignKey("servers.Router", null=True, blank=True, on_delete=models.PROTECT, related_name="ports")
    position = models.PositiveSmallIntegerField(default=0, help_text=_("The place among the cards of its instance."))
    tag = models.CharField(
        max_length=60, blank=True, help_text=_("The device tag that the guest reads in its metadata.")
    )
    is_of_instance = models.BooleanField(
        default=True,
        help_text=_("It was made for its instance and goes with it; else it stays when the instance goes."),
    )
    host = models.CharField(max_length=255, blank=True, db_index=True)
    status = models.CharField(
        max_length=8,
        choices=[(status.value, status.value) for status in PortStatus],
        default=PortStatus.DOWN.value,
    )
    problem = models.TextField(blank=True, help_text=_("Why its host could not plug it."))
    is_enabled = models.BooleanField(default=True)
    has_security = models.BooleanField(default=True, help_text=_("Rules and the check of its own addresses apply."))
    allowed_pairs = JsonField(
        default=list, blank=True, help_text=_("More that it may send from: objects of `address` and `mac`.")
    )
    vnic_type = models.CharField(
        max_length=16, choices=[(kind.value, kind.value) for kind in VnicType], default=VnicType.NORMAL.value
    )
    resource_request = JsonField(
        default=dict,
        blank=True,
        help_text=_("What Placement gives it, such as bandwidth: by group."),
    )
    network_name = models.CharField(max_length=255, blank=True)
    hypervisor_network = models.CharField(max_length=255, blank=True)
    addresses = JsonField(
        default=list, blank=True, help_text=_("IP addresses: its own, or those that its hypervisor's network gave it.")
    )
    groups = models.ManyToManyField(
        "servers.SecurityGroup", through="servers.PortGroup", related_name="ports", blank=True
    )

    class Meta:
        ordering = ["created_at", "position", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["network", "mac"],
                name="port_mac_once",
                violation_error_message="Another port of the network has this MAC address.",
            )
        ]
        indexes = [models.Index(fields=["project", "created_at", "id"], name="port_of_project")]

    def __str__(self) -> str:
        return self.name or self.mac


class IPAllocation(models.Model):
    """API scope. An address that is taken, by whom: the constraint is what keeps two from having one address."""

    network = models.ForeignKey(Network, on_delete=models.PROTECT, related_name="+")
    subnet = models.ForeignKey(Subnet, on_delete=models.PROTECT, related_name="allocations")
    port = models.ForeignKey(Port, on_delete=models.CASCADE, related_name="allocations")
    address = models.GenericIPAddressField(unpack_ipv4=False)
    address_key = models.CharField(
        max_length=32, help_text=_("The address as 32 hexadecimal digits, which sort as it.")
    )

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["network", "address_key"],
                name="address_once",
                violation_error_message="The address is in use.",
            )
        ]
        indexes = [
            models.Index(fields=["subnet", "address_key"], name="address_of_subnet"),
            models.Index(fields=["address"], name="address_anywhere"),
        ]

    def __str__(self) -> str:
        return self.address


class PortGroup(models.Model):
    """That a port is in a security group."""

    port = models.ForeignKey(Port, on_delete=models.CASCADE, related_name="+")
    group = models.ForeignKey("servers.SecurityGroup", on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["port", "group"], name="port_group_once")]

    def __str__(self) -> str:
        return f"{self.port_id}: {self.group_id}"
