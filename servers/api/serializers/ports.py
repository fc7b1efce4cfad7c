"""Ports in the API's JSON."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from computeagent.protocol.networks import AddressPair
from controlplane.infra.api.strict import StrictInput
from servers.api.serializers.tags import TagsField, TagsInput
from servers.models import Port
from servers.networks.domain.names import VnicType
from servers.networks.domain.ports import AddressRequest
from servers.networks.selectors.ports import PORT_STATUSES, port_status


class FixedAddressField(StrictInput):
    """An address: any of a subnet, this one of a subnet, or this one of whichever subnet it is in."""

    subnet = serializers.UUIDField(required=False)
    address = serializers.CharField(required=False)


class AllowedPairField(StrictInput):
    """Another address, or a range of them, that the port may send from; without a MAC address, by its own."""

    address = serializers.CharField()
    mac = serializers.CharField(required=False, allow_blank=True)


class PortChange(TagsInput):
    """What may change of a port. Values are checked by the service."""

    name = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    mac = serializers.CharField(required=False, help_text="Changed by admins, while the port is on no host.")
    fixed_addresses = FixedAddressField(many=True, required=False)
    security_groups = serializers.ListField(
        child=serializers.UUIDField(), required=False, help_text="None at all: nothing passes but DHCP."
    )
    allowed_pairs = AllowedPairField(many=True, required=False)
    has_security = serializers.BooleanField(required=False)
    is_enabled = serializers.BooleanField(required=False)
    resource_request = serializers.DictField(
        required=False,
        help_text="Administrators: what Placement is asked for it, such as bandwidth, while no instance has the port: "
        "objects of `resources` (amounts by resource class) and `required` (traits), by group.",
    )

    def typed(self) -> dict[str, Any]:
        """Values as the service takes them, by its names."""
        values: dict[str, Any] = dict(self.validated_data)
        if (fixed := values.pop("fixed_addresses", None)) is not None:
            values["fixed"] = tuple(AddressRequest(each.get("subnet"), each.get("address", "")) for each in fixed)
        if (groups := values.pop("security_groups", None)) is not None:
            values["group_ids"] = tuple(groups)
        if (pairs := values.pop("allowed_pairs", None)) is not None:
            values["allowed_pairs"] = tuple(AddressPair(each["address"], each.get("mac", "")) for each in pairs)
        return values


class PortInput(PortChange):
    """A new port, which an instance may be given afterwards."""

    network = serializers.UUIDField()
    project = serializers.UUIDField(required=False, help_text="Admins: of another project.")
    vnic_type = serializers.ChoiceField(choices=[kind.value for kind in VnicType], required=False)

    def typed(self) -> dict[str, Any]:
        """Values as the service takes them, by its names."""
        values = super().typed()
        if "vnic_type" in values:
            values["vnic_type"] = VnicType(values["vnic_type"])
        return values


class PortOutput(serializers.ModelSerializer[Port]):
    """What connects an instance, a router or a floating address to a network. Hosts are told to administrators."""

    # DRF takes declared fields out of the class: the serializer's own `instance` is what it was.
    instance = serializers.UUIDField(source="instance_uuid", allow_null=True)  # type: ignore[assignment]
    fixed_addresses = serializers.SerializerMethodField()
    security_groups = serializers.SerializerMethodField()
    status = serializers.SerializerMethodField()
    host = serializers.SerializerMethodField()
    problem = serializers.SerializerMethodField()
    resource_request = serializers.SerializerMethodField()
    tags = TagsField(read_only=True)

    class Meta:
        model = Port
        fields = [
            "id",
            "name",
            "description",
            "network",
            "network_name",
            "project",
            "mac",
            "fixed_addresses",
            "security_groups",
            "allowed_pairs",
            "has_security",
            "is_enabled",
            "owner",
            "instance",
            "router",
            "tag",
            "tags",
            "vnic_type",
            "status",
            "host",
            "problem",
            "resource_request",
            "created_at",
            "updated_at",
        ]

    @extend_schema_field(FixedAddressField(many=True))
    def get_fixed_addresses(self, port: Port) -> list[dict[str, Any]]:
        """In the order in which they were asked for. Those that a hypervisor's own network gave have no subnet."""
        subnets = {row.address: str(row.subnet_id) for row in port.allocations.all()}
        return [{"subnet": subnets.get(address), "address": address} for address in port.addresses]

    def get_security_groups(self, port: Port) -> list[str]:
        """Their ids."""
        return [str(group.pk) for group in port.groups.all()]

    @extend_schema_field(serializers.ChoiceField(choices=PORT_STATUSES))
    def get_status(self, port: Port) -> str:
        """Of a guest's port as its host says; of a router's as the router is; N/A of one that holds an address."""
        return port_status(port)

    def get_host(self, port: Port) -> str | None:
        """Null for others than administrators."""
        return port.host or None if self.context["caller"].sees_all else None

    def get_problem(self, port: Port) -> str:
        """Why its host could not plug it; empty for others than administrators."""
        return port.problem if self.context["caller"].sees_all else ""

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_resource_request(self, port: Port) -> dict[str, Any] | None:
        """What Placement is asked for it, by group; null for others than administrators."""
        return dict(port.resource_request) if self.context["caller"].sees_all else None
