"""Forms of routers and floating addresses: what they say is what their services take."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from django.forms import CharField, JSONField, ModelForm, ModelMultipleChoiceField
from django.utils.translation import gettext_lazy as _

from controlplane.kernel.errors import InvalidFields, KilonovaError
from controlplane.kernel.texts import phrase
from servers.admin.network_rows import objects_of
from servers.admin.tags import TaggedForm
from servers.models import FloatingIP, Port, Router, Subnet
from servers.networks.domain.names import PortOwner
from servers.networks.services.floating_ips import Target

ROUTER_CHANGES = ["name", "description", "is_enabled", "has_snat", "external_network"]


class ServiceRules(ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """The rules are the service's, which shows its reasons at the fields."""

    def validate_constraints(self) -> None:
        """The service says it."""


class TaggedRules(TaggedForm, ServiceRules):
    """The same with tags."""


@contextmanager
def refused_at(field: str) -> Iterator[None]:
    """A refusal of what this field of a form asks for is shown there."""
    try:
        yield
    except InvalidFields as error:
        raise InvalidFields({field: [one for reasons in error.errors.values() for one in reasons]}) from error
    except KilonovaError as error:
        error.field = field
        raise


class RouterAdminForm(TaggedRules):
    """What a router is, and, once it is there, the legs and routes that it gets and loses."""

    gateway_address = CharField(
        required=False,
        max_length=45,
        label=_("gateway address"),
        help_text=_("Of its gateway in the external network. Empty: the one that it has, or any free one."),
    )
    routes = JSONField(required=False, label=_("routes"), help_text=_("Objects of `destination` and `nexthop`."))
    join_subnets = ModelMultipleChoiceField(
        queryset=Subnet.objects.none(),
        required=False,
        label=_("subnets to join"),
        help_text=_("Of its project. The router gets the address of their gateway."),
    )
    join_ports = ModelMultipleChoiceField(
        queryset=Port.objects.none(),
        required=False,
        label=_("ports to join by"),
        help_text=_("Free ones of its project, each of which becomes a leg with the addresses that it has."),
    )
    leave_legs = ModelMultipleChoiceField(
        queryset=Port.objects.none(), required=False, label=_("legs to take away"), help_text=_("Their ports go.")
    )

    class Meta:
        model = Router
        fields = ["project", *ROUTER_CHANGES]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        router = self.instance
        if router._state.adding:
            return
        self.initial["routes"] = router.routes
        legs = Port.objects.filter(router=router.pk, owner=PortOwner.ROUTER_INTERFACE).order_by("created_at", "pk")
        joined = legs.values("allocations__subnet")
        subnets = Subnet.objects.filter(network__project=router.project_id, gateway__isnull=False)
        free = Port.objects.filter(
            project=router.project_id,
            owner=PortOwner.NOBODY,
            instance_uuid=None,
            router=None,
            allocations__isnull=False,
        )
        self._offer("join_subnets", subnets.exclude(pk__in=joined).order_by("cidr", "pk"))
        self._offer("join_ports", free.distinct().order_by("created_at", "pk"))
        self._offer("leave_legs", legs)
        for name in ("join_ports", "leave_legs"):
            cast("Any", self.fields[name]).label_from_instance = _port_words

    def _offer(self, name: str, rows: Any) -> None:
        if name in self.fields:
            cast("ModelMultipleChoiceField[Any]", self.fields[name]).queryset = rows

    def routes_asked(self) -> list[dict[str, str]]:
        """As the service takes them. Raises InvalidFields."""
        return objects_of(self.cleaned_data["routes"], ("destination", "nexthop"), "routes")

    def gateway(self) -> dict[str, Any]:
        """What of the gateway is asked for anew, by the service's names: an address goes with its network."""
        network, address = self.cleaned_data["external_network"], self.cleaned_data["gateway_address"].strip()
        found = {"external_network": network.pk if network else None}
        if address:
            return {**found, "gateway_address": address}
        return found if "external_network" in self.changed_data else {}


def _port_words(port: Port) -> str:
    return f"{port.network_name}: {', '.join(port.addresses)}" + (f" ({port.name})" if port.name else "")


class FloatingIPForm(TaggedRules):
    """An address may be left to the service, and so may be which address of the port is meant."""

    address = CharField(required=False, max_length=39, help_text=_("Empty: any free one."))
    fixed_address = CharField(
        required=False,
        max_length=39,
        label=_("fixed address"),
        help_text=_("Of a port with several IPv4 addresses: which one."),
    )

    class Meta:
        model = FloatingIP
        fields = ["project", "network", "address", "description", "port", "fixed_address"]

    @property
    def moves(self) -> bool:
        """Whether it is to stand for something else than before."""
        return bool({"port", "fixed_address"} & set(self.changed_data))

    def target(self) -> Target | None:
        """What it is to stand for. The address that is shown is the former port's: another port has its own. Raises
        InvalidFields.
        """
        port, fixed = self.cleaned_data["port"], self.cleaned_data["fixed_address"].strip()
        if port is None:
            if fixed and "fixed_address" in self.changed_data:
                raise InvalidFields({"fixed_address": [phrase("It is an address of a port: choose the port as well.")]})
            return None
        return Target(
            port.pk, "" if "port" in self.changed_data and "fixed_address" not in self.changed_data else fixed
        )
