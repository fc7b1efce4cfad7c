"""Networks and subnets in the API's JSON."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from computeagent.protocol.networks import HostRoute, Ipv6Mode, NetworkBackendKind
from controlplane.infra.api.strict import StrictInput
from servers.api.serializers.tags import TagsField, TagsInput
from servers.models import Network, Subnet
from servers.networks.domain.addresses import ranges_of
from servers.networks.domain.subnets import Pool
from servers.networks.selectors.networks import shows_subnets
from servers.networks.selectors.subnets import ipv6_mode_of


class NetworkChange(TagsInput):
    """What may change of a network. Values are checked by the service."""

    name = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    mtu = serializers.IntegerField(required=False, help_text="Bytes. Left out: what is between the hosts lets through.")
    is_shared = serializers.BooleanField(required=False, help_text="Admins: all projects may have ports in it.")
    is_external = serializers.BooleanField(
        required=False, help_text="Admins: gateways and floating addresses are in it."
    )
    is_default = serializers.BooleanField(required=False, help_text="Admins: for instances that ask for no network.")
    has_port_security = serializers.BooleanField(required=False, help_text="What new ports have.")
    is_enabled = serializers.BooleanField(required=False)


class NetworkInput(NetworkChange):
    """A new network."""

    project = serializers.UUIDField(
        required=False, allow_null=True, help_text="Admins: of another project; null is the installation's."
    )
    kind = serializers.ChoiceField(
        choices=[kind.value for kind in NetworkBackendKind], required=False, help_text="Admins: who carries it."
    )
    hypervisor_network = serializers.CharField(required=False, help_text="Admins; of kind hypervisor.")
    physical_network = serializers.CharField(required=False, help_text="Admins: the outside network that it is.")


class NetworkOutput(serializers.ModelSerializer[Network]):
    """A network that instances can be on. What it is below is told to administrators."""

    subnets = serializers.SerializerMethodField()
    segment = serializers.SerializerMethodField()
    physical_network = serializers.SerializerMethodField()
    hypervisor_network = serializers.SerializerMethodField()
    tags = TagsField(read_only=True)

    class Meta:
        model = Network
        fields = [
            "id",
            "name",
            "description",
            "project",
            "kind",
            "mtu",
            "is_shared",
            "is_external",
            "is_default",
            "has_port_security",
            "is_enabled",
            "tags",
            "subnets",
            "segment",
            "physical_network",
            "hypervisor_network",
            "created_at",
            "updated_at",
        ]

    def _below(self, value: Any) -> Any:
        return value if self.context["caller"].sees_all else None

    def get_subnets(self, network: Network) -> list[str]:
        """Their ids, the oldest first. Of an external network only its owner and administrators see them."""
        is_seen = shows_subnets(self.context["caller"], network)
        return [str(row.pk) for row in network.subnets.all()] if is_seen else []

    def get_segment(self, network: Network) -> int | None:
        """The VXLAN id; null for others than administrators."""
        return self._below(network.segment)  # type: ignore[no-any-return]

    def get_physical_network(self, network: Network) -> str | None:
        """Null for others than administrators."""
        return self._below(network.physical_network)  # type: ignore[no-any-return]

    def get_hypervisor_network(self, network: Network) -> str | None:
        """Null for others than administrators."""
        return self._below(network.hypervisor_network)  # type: ignore[no-any-return]


class PoolField(StrictInput):
    """A range of addresses, both ends in it."""

    first = serializers.CharField()
    last = serializers.CharField()


class HostRouteField(StrictInput):
    """A route that guests are told."""

    destination = serializers.CharField(help_text="Such as 10.9.0.0/16.")
    nexthop = serializers.CharField()


class SubnetChange(TagsInput):
    """What may change of a subnet. Values are checked by the service."""

    name = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    gateway = serializers.CharField(
        required=False, allow_null=True, help_text="Left out: the first address. Null: it has none."
    )
    has_dhcp = serializers.BooleanField(required=False)
    # `many=True` would let null pass as a pool, too.
    pools = serializers.ListField(
        child=PoolField(), required=False, allow_null=True, help_text="Left out or null: all but the gateway."
    )
    dns_servers = serializers.ListField(child=serializers.CharField(), required=False)
    routes = HostRouteField(many=True, required=False)

    def typed(self) -> dict[str, Any]:
        """Values as the service takes them."""
        values: dict[str, Any] = dict(self.validated_data)
        if values.get("pools") is not None:
            pools: tuple[Pool, ...] = tuple((pool["first"], pool["last"]) for pool in values["pools"])
            values["pools"] = pools
        if "dns_servers" in values:
            values["dns_servers"] = tuple(values["dns_servers"])
        if "routes" in values:
            values["routes"] = tuple(HostRoute(**route) for route in values["routes"])
        return values


class SubnetInput(SubnetChange):
    """A new subnet of a network."""

    network = serializers.UUIDField()
    cidr = serializers.CharField(help_text="Such as 10.1.0.0/24 or fd00:1::/64.")
    ipv6_mode = serializers.ChoiceField(
        choices=[mode.value for mode in Ipv6Mode],
        required=False,
        help_text="How guests get their IPv6 addresses. Left out: by DHCP. It stays as it is.",
    )


class SubnetOutput(serializers.ModelSerializer[Subnet]):
    """A range of addresses of a network. `addresses_total`: of its pools; `addresses_used`: all that ports have."""

    pools = serializers.SerializerMethodField()
    ipv6_mode = serializers.SerializerMethodField()
    addresses_total = serializers.SerializerMethodField()
    addresses_used = serializers.SerializerMethodField()
    tags = TagsField(read_only=True)

    class Meta:
        model = Subnet
        fields = [
            "id",
            "name",
            "description",
            "network",
            "project",
            "ip_version",
            "cidr",
            "gateway",
            "has_dhcp",
            "ipv6_mode",
            "pools",
            "dns_servers",
            "routes",
            "tags",
            "metadata_address",
            "addresses_total",
            "addresses_used",
            "created_at",
            "updated_at",
        ]

    @extend_schema_field(PoolField(many=True))
    def get_pools(self, subnet: Subnet) -> list[dict[str, str]]:
        """Where addresses are given from."""
        return [{"first": first, "last": last} for first, last in subnet.pools]

    def get_ipv6_mode(self, subnet: Subnet) -> str | None:
        """How guests get their IPv6 addresses; null for IPv4, and without DHCP."""
        return ipv6_mode_of(subnet)

    def get_addresses_total(self, subnet: Subnet) -> int:
        """How many addresses its pools have; of IPv6 a very large number."""
        return sum(pool.size for pool in ranges_of(subnet.pools))

    def get_addresses_used(self, subnet: Subnet) -> int:
        """How many addresses of it ports have."""
        return int(getattr(subnet, "addresses_used", 0))
