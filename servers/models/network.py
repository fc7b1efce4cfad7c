"""Networks and their subnets."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from computeagent.protocol.networks import Ipv6Mode, NetworkBackendKind
from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped, UuidKeyed
from servers.models.tagged import Tagged


class Network(UuidKeyed, Timestamped, Tagged):
    """API scope. What ports hang on. Of kind `hypervisor` it is a name for users, over the name that hypervisors know
    it by: such a one has no subnets of ours. No project: it is the installation's.
    """

    name = models.CharField(max_length=255, blank=True)
    description = models.CharField(max_length=255, blank=True)
    project = models.ForeignKey("identity.Project", null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(
        max_length=12,
        choices=[(kind.value, kind.value) for kind in NetworkBackendKind],
        default=NetworkBackendKind.HYPERVISOR.value,
        help_text=_("Who carries it."),
    )
    hypervisor_network = models.CharField(
        max_length=255,
        blank=True,
        help_text=_("The hypervisor's own name, such as `default`; of kind hypervisor only."),
    )
    physical_network = models.CharField(
        max_length=64,
        blank=True,
        help_text=_("The outside network that it is, by the name that hosts map to a bridge."),
    )
    segment = models.PositiveIntegerField(
        null=True, blank=True, unique=True, help_text=_("VXLAN or Geneve id; none for one outside.")
    )
    mtu = models.PositiveIntegerField(default=1450, help_text=_("Bytes."))
    is_shared = models.BooleanField(default=False, help_text=_("All projects may have ports in it."))
    is_external = models.BooleanField(
        default=False, help_text=_("Routers have their gateways in it, and floating addresses are of it.")
    )
    is_default = models.BooleanField(default=False, help_text=_("Instances that ask for no network get this one."))
    has_port_security = models.BooleanField(default=True, help_text=_("What its new ports have."))
    is_enabled = models.BooleanField(default=True, help_text=_("One that is not passes nothing."))

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["is_default"],
                condition=models.Q(is_default=True),
                name="network_one_default",
                violation_error_message="Another network is the default already.",
            ),
            models.UniqueConstraint(
                fields=["name"],
                condition=models.Q(project=None),
                name="network_name_of_installation",
                violation_error_message="Another network of the installation has this name.",
            ),
        ]

    def __str__(self) -> str:
        return self.name or str(self.pk)


class Subnet(UuidKeyed, Timestamped, Tagged):
    """API scope. A range of addresses of a network. No two subnets of one network overlap."""

    network = models.ForeignKey(Network, on_delete=models.PROTECT, related_name="subnets")
    project = models.ForeignKey("identity.Project", null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=255, blank=True)
    description = models.CharField(max_length=255, blank=True)
    ip_version = models.PositiveSmallIntegerField(choices=[(4, "IPv4"), (6, "IPv6")])
    cidr = models.CharField(max_length=49, help_text=_("In canonical form."))
    gateway = models.GenericIPAddressField(null=True, blank=True)
    has_dhcp = models.BooleanField(default=True)
    ipv6_mode = models.CharField(
        max_length=16,
        blank=True,
        choices=[(mode.value, mode.value) for mode in Ipv6Mode],
        help_text=_("How guests get their IPv6 addresses; empty: by DHCP."),
    )
    pools = JsonField(
        default=list, help_text=_("Ranges that addresses are given from: pairs of first and last address.")
    )
    metadata_address = models.GenericIPAddressField(
        null=True,
        blank=True,
        help_text=_("Where DHCP and the metadata service answer, beside 169.254.169.254. It is given to no port."),
    )
    dns_servers = JsonField(default=list, blank=True)
    routes = JsonField(default=list, blank=True, help_text=_("Objects of `destination` and `nexthop`."))
    next_address = models.CharField(
        max_length=32, blank=True, help_text=_("Where the search for a free address begins: 32 hexadecimal digits.")
    )

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["network", "cidr"],
                name="subnet_cidr_once",
                violation_error_message="The network has a subnet with this range already.",
            )
        ]

    def __str__(self) -> str:
        return self.name or self.cidr

    @property
    def is_automatic(self) -> bool:
        """Whether each port's address follows from its MAC address: none is chosen."""
        return self.ipv6_mode in (Ipv6Mode.SLAAC, Ipv6Mode.STATELESS)
