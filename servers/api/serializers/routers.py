"""Routers and floating addresses on the wire."""

from typing import Any

from rest_framework import serializers

from controlplane.identity.domain import Caller
from controlplane.infra.api.strict import StrictInput
from servers.api.serializers.tags import TagsField, TagsInput
from servers.models import FloatingIP, Port, Router
from servers.networks.selectors.routers import gateway_of, legs_of
from servers.networks.services.floating_ips import Target


class RouteField(StrictInput):
    """A static route of a router."""

    destination = serializers.CharField(help_text="Such as 10.9.0.0/16.")
    nexthop = serializers.CharField(help_text="An address in one of the router's subnets.")


PROJECT_HELP = "Admins: of another project."


class RouterFields(TagsInput):
    """What is said of a router, new or not."""

    name = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    is_enabled = serializers.BooleanField(required=False)
    has_snat = serializers.BooleanField(
        required=False, help_text="Whether guests without a floating address go out under the gateway's own."
    )
    external_network = serializers.UUIDField(required=False, allow_null=True, help_text="Where its gateway is to be.")
    gateway_address = serializers.CharField(required=False, help_text="For admins: the gateway's address there.")


class RouterInput(RouterFields):
    """A new router."""

    project = serializers.UUIDField(required=False, help_text=PROJECT_HELP)


class RouterChangeInput(RouterFields):
    """What changes of a router. `external_network` null takes its gateway away."""

    routes = RouteField(many=True, required=False)


class RouterInterfaceInput(StrictInput):
    """A subnet, which is joined at its gateway's address, or a port with addresses of its own."""

    subnet = serializers.UUIDField(required=False)
    port = serializers.UUIDField(required=False)


class RouterMoveInput(StrictInput):
    """Where a router is to live; without a host the best of the others is chosen."""

    host = serializers.CharField(required=False, allow_blank=True)


class RouterPortOutput(serializers.ModelSerializer[Port]):
    """A leg of a router, or its gateway."""

    subnets = serializers.SerializerMethodField()

    class Meta:
        model = Port
        fields = ["id", "network", "network_name", "mac", "addresses", "subnets"]

    def get_subnets(self, port: Port) -> list[str]:
        """Ids of the subnets that its addresses are in."""
        return [str(row.subnet_id) for row in port.allocations.all()]


class RouterOutput(serializers.ModelSerializer[Router]):
    """A router with its legs. Where it lives is for admins to see; its owner sees whether something is wrong."""

    gateway = serializers.SerializerMethodField()
    interfaces = serializers.SerializerMethodField()
    has_problem = serializers.SerializerMethodField()
    host = serializers.SerializerMethodField()
    host_reason = serializers.SerializerMethodField()
    problem = serializers.SerializerMethodField()
    tags = TagsField(read_only=True)

    class Meta:
        model = Router
        fields = [
            "id",
            "name",
            "description",
            "project",
            "is_enabled",
            "external_network",
            "has_snat",
            "routes",
            "tags",
            "gateway",
            "interfaces",
            "has_problem",
            "host",
            "host_reason",
            "problem",
            "created_at",
            "updated_at",
        ]

    def get_gateway(self, router: Router) -> dict[str, Any] | None:
        """Its port in the external network; null without one."""
        port = gateway_of(router)
        return None if port is None else dict(RouterPortOutput(port).data)

    def get_interfaces(self, router: Router) -> list[dict[str, Any]]:
        """Its ports in the networks inside."""
        return [dict(RouterPortOutput(port).data) for port in legs_of(router)]

    def get_has_problem(self, router: Router) -> bool:
        """Whether no host has it, or its host cannot do all that it should."""
        return bool(router.problem)

    def get_host(self, router: Router) -> str | None:
        """For admins; empty for a router that lives on no single host."""
        return router.host if self._for_admin() else None

    def get_host_reason(self, router: Router) -> str | None:
        """For admins: why it is there."""
        return router.host_reason if self._for_admin() else None

    def get_problem(self, router: Router) -> str | None:
        """For admins: what is wrong."""
        return router.problem if self._for_admin() else None

    def _for_admin(self) -> bool:
        caller = self.context.get("caller")
        return isinstance(caller, Caller) and caller.sees_all


class FloatingIPInput(TagsInput):
    """An address of an external network, and what it is to stand for."""

    network = serializers.UUIDField(help_text="An external network.")
    project = serializers.UUIDField(required=False, help_text=PROJECT_HELP)
    address = serializers.CharField(required=False, help_text="For admins: which one.")
    port = serializers.UUIDField(required=False, allow_null=True)
    fixed_address = serializers.CharField(
        required=False, allow_blank=True, help_text="Of a port with several IPv4 addresses: which one."
    )
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)

    def target(self) -> Target | None:
        """What it is to stand for, once the body is valid."""
        port = self.validated_data.get("port")
        return None if port is None else Target(port, self.validated_data.get("fixed_address", ""))


class FloatingIPChangeInput(TagsInput):
    """`port` null: it stands for nothing any more."""

    port = serializers.UUIDField(required=False, allow_null=True)
    fixed_address = serializers.CharField(required=False, allow_blank=True)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)

    def target(self) -> Target | None:
        """What it is to stand for, once the body is valid."""
        port = self.validated_data.get("port")
        return None if port is None else Target(port, self.validated_data.get("fixed_address", ""))


class FloatingIPOutput(serializers.ModelSerializer[FloatingIP]):
    """A floating address, and what it stands for."""

    network_name = serializers.CharField(source="network.name")
    instance_uuid = serializers.UUIDField(source="port.instance_uuid", allow_null=True, default=None)
    tags = TagsField(read_only=True)

    class Meta:
        model = FloatingIP
        fields = [
            "id",
            "address",
            "description",
            "project",
            "network",
            "network_name",
            "port",
            "fixed_address",
            "instance_uuid",
            "router",
            "status",
            "tags",
            "created_at",
            "updated_at",
        ]
