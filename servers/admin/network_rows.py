"""Networks and subnets: made, changed and removed through the services."""

from typing import Any

from django.contrib import admin
from django.forms import BooleanField, CharField, IntegerField, JSONField, ModelForm
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from computeagent.protocol.networks import HostRoute, NetworkBackendKind
from controlplane.infra.admin.bases import ReadOnlyInline, ThroughServicesAdmin
from controlplane.infra.admin.filters import named
from controlplane.infra.admin.names import title_column
from controlplane.infra.admin.site import site_of
from controlplane.kernel.errors import InvalidFields
from controlplane.kernel.texts import phrase
from servers.admin.network_pages import drawing_link
from servers.admin.tags import TagFilter, TaggedAdmin, TaggedForm
from servers.models import Network, Subnet
from servers.networks.domain.networks import NetworkRequest
from servers.networks.domain.subnets import FIRST_HOST, SubnetRequest
from servers.networks.selectors.tags import TaggedKind
from servers.networks.services.networks import network_create, network_delete, network_update
from servers.networks.services.subnets import subnet_create, subnet_delete, subnet_update

NETWORK_FIXED = ["project", "kind", "hypervisor_network", "physical_network"]
NETWORK_CHANGES = ["name", "description", "mtu", "is_shared", "is_external", "has_port_security", "is_enabled"]
SUBNET_CHANGES = ["name", "description", "gateway", "has_dhcp", "pools", "dns_servers", "routes"]


def changed_only(form: "ModelForm[Any]", names: list[str]) -> dict[str, Any]:
    """What was changed in the form, so that what others changed meanwhile stays."""
    return {name: form.cleaned_data[name] for name in names if name in form.changed_data}


def objects_of(value: Any, keys: tuple[str, ...], field: str) -> list[dict[str, str]]:
    """A list of objects with text under these keys, out of JSON that somebody typed. Raises InvalidFields."""
    rows = value or []
    fits = isinstance(rows, list) and all(
        isinstance(row, dict) and set(row) <= set(keys) and all(isinstance(text, str) for text in row.values())
        for row in rows
    )
    if not fits:
        raise InvalidFields({field: [phrase("Must be a list of objects of {keys}.", keys=" and ".join(keys))]})
    return [{key: row.get(key, "") for key in keys} for row in rows]


def texts_of(value: Any, field: str) -> tuple[str, ...]:
    """A list of texts, out of JSON that somebody typed. Raises InvalidFields."""
    rows = value or []
    if not isinstance(rows, list) or not all(isinstance(row, str) for row in rows):
        raise InvalidFields({field: [phrase("Must be a list of texts.")]})
    return tuple(rows)


class NetworkRowForm(TaggedForm):
    """The rules are the service's, which shows its reasons at the fields."""

    mtu = IntegerField(required=False, help_text=_("Bytes. Empty: what the network between hosts lets through."))
    # Not the model's field: that only one is the default is what the service sees to, by moving it.
    make_default = BooleanField(required=False, help_text=_("Instances that ask for no network get this one."))

    class Meta:
        model = Network
        fields = [*NETWORK_FIXED, *NETWORK_CHANGES]

    def validate_constraints(self) -> None:
        """The service says it."""


class SubnetInline(ReadOnlyInline):
    """Its ranges of addresses."""

    model = Subnet
    fields = ["name", "cidr", "gateway", "has_dhcp"]
    show_change_link = True


class WithWhatIsInIt(ThroughServicesAdmin):
    """Rows that go with what is in them, or are refused, by their service: Django's own look for what is below would
    refuse a network for its subnets, which go with it.
    """

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[Any], list[Any]]:
        """The rows themselves."""
        rows = [str(one) for one in objs]
        return rows, {str(self.opts.verbose_name_plural): len(rows)}, set(), []

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Groups and addresses are written by the service as well. Django's log asks the forms below what they did."""
        for formset in formsets:
            formset.new_objects, formset.changed_objects, formset.deleted_objects = [], [], []


@admin.register(Network)
class NetworkAdmin(TaggedAdmin, WithWhatIsInIt):
    """Networks of all projects, and names for the networks of the hypervisors."""

    form = NetworkRowForm
    tagged_kind = TaggedKind.NETWORK
    list_display = [
        title_column(),
        "kind",
        "project",
        "segment",
        "is_shared",
        "is_external",
        "is_default",
        "created_at",
    ]
    list_filter = ["kind", "is_shared", "is_external", "is_default", "is_enabled", named("project"), TagFilter]
    list_select_related = ["project"]
    search_fields = ["id", "name", "hypervisor_network", "physical_network", "project__name", "=segment"]
    autocomplete_fields = ["project"]

    @admin.display(description=_("Drawing"))
    def drawing(self, network: Network) -> SafeString | str:
        """On its page in the panel."""
        return drawing_link(site_of(self), network)

    def get_inlines(self, request: HttpRequest, obj: Network | None) -> list[Any]:
        """A new one has no subnets."""
        return [SubnetInline] if obj else []

    def get_readonly_fields(self, request: HttpRequest, obj: Network | None = None) -> list[str]:
        """What it is stays, and so does who has it."""
        return [] if obj is None else [*NETWORK_FIXED, "drawing"]

    def save_model(self, request: HttpRequest, obj: Network, form: Any, change: bool) -> None:
        default = {"is_default": True} if form.cleaned_data["make_default"] else {}
        if change:
            network_update(caller=None, network_id=obj.pk, changes=changed_only(form, NETWORK_CHANGES) | default)
            return
        fields = {name: form.cleaned_data[name] for name in NETWORK_CHANGES}
        project = form.cleaned_data["project"]
        request_of = NetworkRequest(
            project_id=project.pk if project else None,
            kind=NetworkBackendKind(form.cleaned_data["kind"]),
            hypervisor_network=form.cleaned_data["hypervisor_network"],
            physical_network=form.cleaned_data["physical_network"],
            is_default=form.cleaned_data["make_default"],
            **fields,
        )
        obj.pk = network_create(caller=None, request=request_of).pk

    def service_delete(self, obj: Network) -> None:
        network_delete(caller=None, network_id=obj.pk)


class SubnetRowForm(TaggedForm):
    """The rules are the service's."""

    cidr = CharField(max_length=49, help_text=_("Such as 10.1.0.0/24 or fd00:1::/64."))
    gateway = CharField(required=False, help_text=_("Empty: its first address; none: it has none."))
    pools = JSONField(required=False, help_text=_('Objects of "first" and "last". Empty: all but the gateway.'))

    class Meta:
        model = Subnet
        fields = ["network", "cidr", "ipv6_mode", *SUBNET_CHANGES]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if not self.instance._state.adding:
            self.initial["pools"] = [{"first": first, "last": last} for first, last in self.instance.pools]
            self.initial["gateway"] = self.instance.gateway or "none"

    def validate_constraints(self) -> None:
        """The service says it."""

    def typed(self, names: list[str]) -> dict[str, Any]:
        """Values as the service takes them. Raises InvalidFields."""
        values = {name: self.cleaned_data[name] for name in names}
        if "gateway" in values:
            values["gateway"] = {"": FIRST_HOST, "none": None}.get(values["gateway"], values["gateway"])
        if "pools" in values:
            pools = objects_of(values["pools"], ("first", "last"), "pools")
            values["pools"] = tuple((pool["first"], pool["last"]) for pool in pools) or None
        if "dns_servers" in values:
            values["dns_servers"] = texts_of(values["dns_servers"], "dns_servers")
        if "routes" in values:
            routes = objects_of(values["routes"], ("destination", "nexthop"), "routes")
            values["routes"] = tuple(HostRoute(**route) for route in routes)
        return values

    def _post_clean(self) -> None:
        """The row is the service's to write: what is typed here is not its fields' values yet."""


@admin.register(Subnet)
class SubnetAdmin(TaggedAdmin, WithWhatIsInIt):
    """Ranges of addresses."""

    form = SubnetRowForm
    tagged_kind = TaggedKind.SUBNET
    list_display = ["cidr", "name", "network", "gateway", "has_dhcp", "created_at"]
    list_filter = ["ip_version", "has_dhcp", named("network"), TagFilter]
    list_select_related = ["network"]
    search_fields = ["id", "name", "cidr", "network__name"]
    autocomplete_fields = ["network"]

    def get_readonly_fields(self, request: HttpRequest, obj: Subnet | None = None) -> list[str]:
        """What it is stays."""
        return [] if obj is None else ["network", "cidr", "ipv6_mode"]

    def save_model(self, request: HttpRequest, obj: Subnet, form: Any, change: bool) -> None:
        if change:
            names = [name for name in SUBNET_CHANGES if name in form.changed_data]
            subnet_update(caller=None, subnet_id=obj.pk, changes=form.typed(names))
            return
        typed = form.typed(SUBNET_CHANGES)
        network = form.cleaned_data["network"]
        mode = form.cleaned_data["ipv6_mode"]
        wanted = SubnetRequest(network_id=network.pk, cidr=form.cleaned_data["cidr"], ipv6_mode=mode, **typed)
        obj.pk = subnet_create(caller=None, request=wanted).pk

    def service_delete(self, obj: Subnet) -> None:
        subnet_delete(caller=None, subnet_id=obj.pk)
