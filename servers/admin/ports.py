"""Ports: made, changed and removed through the services."""

import uuid
from typing import Any, cast

from django.contrib import admin
from django.forms import CharField, ModelMultipleChoiceField
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from computeagent.protocol.networks import AddressPair
from controlplane.infra.admin.bases import ReadOnlyInline
from controlplane.infra.admin.filters import named, typed
from controlplane.infra.admin.names import NONE
from controlplane.kernel.errors import InvalidFields
from controlplane.kernel.texts import phrase
from servers.admin.network_pages import reachability_link
from servers.admin.network_rows import WithWhatIsInIt, changed_only, objects_of
from servers.admin.routing_forms import refused_at
from servers.admin.tags import TagFilter, TaggedAdmin, TaggedForm
from servers.models import IPAllocation, Port, SecurityGroup
from servers.networks.domain.names import VnicType
from servers.networks.domain.ports import AddressRequest, PortRequest
from servers.networks.selectors.tags import TaggedKind
from servers.networks.services.groups import default_group_make
from servers.networks.services.instance_groups import group_of_reference
from servers.networks.services.port_changes import port_delete, port_update
from servers.networks.services.ports import ports_create

PORT_CHANGES = ["name", "description", "mac", "is_enabled", "has_security", "allowed_pairs", "resource_request"]
PORT_JSON = ("allowed_pairs", "resource_request")
"""Of PORT_CHANGES, what is typed as JSON."""
NEW_GROUPS = _(
    "Names or ids of security groups of its project, with commas between. Empty: its default group; none: in no group."
)


class PortRowForm(TaggedForm):
    """The rules are the service's."""

    mac = CharField(required=False, max_length=17, help_text=_("Empty: a new one."))
    addresses = CharField(
        required=False,
        help_text=_("With commas between. Empty on a new port: one of each IP version; none: no address."),
    )
    groups = ModelMultipleChoiceField(queryset=SecurityGroup.objects.none(), required=False)

    class Meta:
        model = Port
        fields = ["network", "project", "vnic_type", *PORT_CHANGES]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.instance._state.adding:
            # Which groups there are depends on the project, which is chosen in this very form.
            self.fields["groups"] = CharField(required=False, help_text=NEW_GROUPS)
            self.fields["vnic_type"].required = False
            return
        field = cast("ModelMultipleChoiceField[SecurityGroup]", self.fields["groups"])
        field.queryset = SecurityGroup.objects.filter(project=self.instance.project_id)
        self.initial["groups"] = list(self.instance.groups.values_list("pk", flat=True))
        self.initial["addresses"] = ", ".join(self.instance.addresses) or "none"

    def validate_constraints(self) -> None:
        """The service says it."""

    def _post_clean(self) -> None:
        """The row is the service's to write."""

    def fixed(self) -> tuple[AddressRequest, ...] | None:
        """The addresses as the service takes them."""
        text = self.cleaned_data["addresses"].strip()
        if text in {"", "none"}:
            return None if not text else ()
        return tuple(AddressRequest(address=each.strip()) for each in text.split(","))

    def named_groups(self) -> tuple[uuid.UUID, ...] | None:
        """The groups of a new port as the service takes them. Raises InvalidFields, SecurityGroupNotFound, Conflict."""
        text, project = self.cleaned_data["groups"].strip(), self.cleaned_data["project"]
        if text in {"", "none"}:
            return None if not text else ()
        if project is None:
            raise InvalidFields({"groups": [phrase("A port of no project is in no group: choose a project.")]})
        default_group_make(project_id=project.pk)  # it may be named before the project has its first port
        names = dict.fromkeys(name.strip() for name in text.split(","))
        with refused_at("groups"):
            found = [group_of_reference(project_id=project.pk, reference=name).pk for name in names]
        return tuple(dict.fromkeys(found))

    def pairs(self) -> tuple[AddressPair, ...]:
        """Raises InvalidFields."""
        rows = objects_of(self.cleaned_data["allowed_pairs"], ("address", "mac"), "allowed_pairs")
        return tuple(AddressPair(**row) for row in rows)

    def resources(self) -> Any:
        """What Placement is asked for the port, as the service judges it."""
        return self.cleaned_data["resource_request"] or {}


class AddressInline(ReadOnlyInline):
    """The addresses that it has."""

    model = IPAllocation
    fields = ["address", "subnet"]


@admin.register(Port)
class PortAdmin(TaggedAdmin, WithWhatIsInIt):
    """What connects instances, routers and floating addresses to networks."""

    form = PortRowForm
    tagged_kind = TaggedKind.PORT
    list_display = ["mac", "shown_addresses", "network_name", "owner", "instance_uuid", "host", "status", "created_at"]
    list_filter = [
        "status",
        "owner",
        "vnic_type",
        "has_security",
        "is_enabled",
        named("project"),
        named("network"),
        typed("host"),
        TagFilter,
    ]
    list_select_related = ["network", "project"]
    search_fields = ["id", "name", "mac", "instance_uuid", "host", "network_name", "allocations__address"]
    autocomplete_fields = ["network", "project"]

    @admin.display(description=_("addresses"))
    def shown_addresses(self, port: Port) -> str:
        """With commas between."""
        return ", ".join(port.addresses)

    @admin.display(description=_("Reachability"))
    def reachability(self, port: Port) -> SafeString | str:
        """The question is asked on a page of the panel."""
        return reachability_link(port.pk) if port.network_id else NONE

    def get_inlines(self, request: HttpRequest, obj: Port | None) -> list[Any]:
        """A new one has no addresses."""
        return [AddressInline] if obj else []

    def get_fields(self, request: HttpRequest, obj: Port | None = None) -> Any:
        """What is asked for, then what it came to."""
        asked = ["network", "project", "name", "description", "mac", "addresses", "groups"]
        asked += ["vnic_type"] if obj is None else []
        asked += ["is_enabled", "has_security", "allowed_pairs", "resource_request", "tags"]
        return asked if obj is None else [*asked, *self.get_readonly_fields(request, obj)[2:]]

    def get_readonly_fields(self, request: HttpRequest, obj: Port | None = None) -> list[str]:
        """What it is stays; where it is, others say."""
        shown = ["reachability", "owner", "instance_uuid", "router", "host", "status", "problem", "vnic_type"]
        return [] if obj is None else ["network", "project", *shown]

    def save_model(self, request: HttpRequest, obj: Port, form: Any, change: bool) -> None:
        plain = [name for name in PORT_CHANGES if name not in PORT_JSON]
        if change:
            changes = changed_only(form, plain)
            if "allowed_pairs" in form.changed_data:
                changes["allowed_pairs"] = form.pairs()
            if "resource_request" in form.changed_data:
                changes["resource_request"] = form.resources()
            if "addresses" in form.changed_data:
                changes["fixed"] = form.fixed() or ()
            if "groups" in form.changed_data:
                changes["group_ids"] = tuple(group.pk for group in form.cleaned_data["groups"])
            port_update(caller=None, port_id=obj.pk, changes=changes)
            return
        project = form.cleaned_data["project"]
        wanted = PortRequest(
            network_id=form.cleaned_data["network"].pk if form.cleaned_data["network"] else obj.pk,
            project_id=project.pk if project else None,
            fixed=form.fixed(),
            group_ids=form.named_groups(),
            vnic_type=VnicType(form.cleaned_data["vnic_type"] or VnicType.NORMAL),
            allowed_pairs=form.pairs(),
            resource_request=form.resources(),
            **{name: form.cleaned_data[name] for name in plain},
        )
        obj.pk = ports_create(caller=None, requests=[wanted])[0].pk

    def service_delete(self, obj: Port) -> None:
        port_delete(caller=None, port_id=obj.pk)
