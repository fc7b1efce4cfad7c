"""The forms of ports, the same values as in `/api/`."""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from controlplane.dashboard.networks.tags import tags_field
from controlplane.dashboard.ports.lines import Lines, address_of_line, addresses_of_lines, pair_of_line
from controlplane.dashboard.ports.resource_lines import groups_by_name, resources_field
from controlplane.identity.domain import Caller
from controlplane.identity.selectors import project_id_called
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import NotFound
from servers.networks.domain.names import VnicType
from servers.networks.domain.ports import PortRequest
from servers.networks.selectors.networks import owner_of

NO_GROUP = "-"
CHECKED, UNCHECKED = "on", "off"
VNIC_TYPES = (
    (VnicType.NORMAL.value, _("normal: of the network itself")),
    (VnicType.DIRECT.value, _("direct: a virtual function of a device (SR-IOV)")),
    (VnicType.MACVTAP.value, _("macvtap: on a virtual function of a device")),
    (VnicType.DIRECT_PHYSICAL.value, _("direct-physical: a whole device")),
)
SubnetsOf = Callable[[uuid.UUID], Mapping[str, uuid.UUID]]
"""The ids of a network's subnets, by range."""


class PortNameForm(forms.Form):
    """What may be changed of every port, also of those that routers and floating addresses made for themselves."""

    name = forms.CharField(label=_("Name"), required=False, strip=False, help_text=_("Up to 255 characters."))
    description = forms.CharField(label=_("Description"), required=False, strip=False)
    tags = tags_field()

    def changes(self) -> dict[str, Any]:
        """What was changed, as the service names and takes it."""
        return {name: self.cleaned_data[name] for name in ("name", "description") if name in self.changed_data}


class PortEditForm(PortNameForm):
    """What may be changed of a port that is an instance's, or nobody's yet."""

    fixed_addresses = Lines(
        address_of_line,
        label=_("Addresses"),
        help_text=_(
            "One a line: an address, or a subnet's range such as 10.1.0.0/24 for any address of it. "
            "A hyphen alone: none."
        ),
    )
    security_groups = forms.MultipleChoiceField(
        label=_("Security groups"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Who may reach it. None marked: nothing passes but DHCP."),
    )
    allowed_pairs = Lines(
        pair_of_line,
        label=_("Allowed address pairs"),
        help_text=_(
            "What it may send from besides its own address: an address or a range a line, and behind it a MAC address "
            "where that is another one, too. 10.1.0.9, or 10.1.0.0/28 52:54:00:12:34:56."
        ),
    )
    has_security = forms.BooleanField(
        label=_("Port security: rules and the check of its own addresses apply"),
        required=False,
        help_text=_("To switch it off, take groups and pairs away as well."),
    )
    is_enabled = forms.BooleanField(label=_("Enabled: it passes traffic"), required=False, initial=True)
    mac = forms.CharField(
        label=_("MAC address"), help_text=_("It may change while the port is on no host."), max_length=64
    )
    resource_request = resources_field()
    of_admins: Sequence[str] = ("mac", "resource_request")
    field_order: Sequence[str] = (
        "name",
        "description",
        "fixed_addresses",
        "security_groups",
        "allowed_pairs",
        "has_security",
        "is_enabled",
        "mac",
        "resource_request",
        "tags",
    )

    def __init__(
        self,
        data: Any = None,
        *,
        groups: Iterable[Any],
        subnets_of: SubnetsOf,
        network_id: uuid.UUID | None = None,
        is_admin: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(data, **more)
        self.subnets_of, self.own_network_id = subnets_of, network_id
        self.fields["fixed_addresses"].required = True
        groups_field: Any = self.fields["security_groups"]
        groups_field.choices = [(str(one.pk), one.name) for one in groups]
        for name in () if is_admin else self.of_admins:
            del self.fields[name]

    @property
    def network_id(self) -> uuid.UUID | None:
        """Where it is; None where that is not known, or where there are no subnets of ours."""
        return self.own_network_id

    def clean_fixed_addresses(self) -> Any:
        """What is asked for; None where nothing is said."""
        lines, network_id = self.cleaned_data["fixed_addresses"], self.network_id
        return addresses_of_lines(lines, self.subnets_of(network_id)) if lines and network_id else None

    def clean_resource_request(self) -> dict[str, Any]:
        """Groups by their names."""
        return groups_by_name(self.cleaned_data["resource_request"])

    def changes(self) -> dict[str, Any]:
        """What was changed, as the service names and takes it."""
        said, changed = self.cleaned_data, set(self.changed_data)
        found = super().changes()
        found |= {
            name: said[name]
            for name in ("has_security", "is_enabled", "mac", "allowed_pairs", "resource_request")
            if name in changed
        }
        if "fixed_addresses" in changed:
            found["fixed"] = said["fixed_addresses"]
        if "security_groups" in changed:
            found["group_ids"] = tuple(map(uuid.UUID, said["security_groups"]))
        return found


class PortForm(PortEditForm):
    """A new port, which an instance may be given afterwards."""

    network = forms.ChoiceField(label=_("Network"))
    project = forms.CharField(
        label=_("Project"),
        required=False,
        max_length=64,
        help_text=_("The name or id of another project that is to have it. Empty: your own."),
    )
    of_admins = ("project", "resource_request")
    vnic_type = forms.ChoiceField(
        label=_("VNIC type"),
        choices=VNIC_TYPES,
        required=False,
        help_text=_("A device only in a network that is a physical one."),
    )
    field_order = (
        "network",
        "project",
        "name",
        "description",
        "fixed_addresses",
        "mac",
        "security_groups",
        "has_security",
        "allowed_pairs",
        "vnic_type",
        "resource_request",
        "is_enabled",
        "tags",
    )

    def __init__(
        self,
        data: Any = None,
        *,
        networks: Iterable[Any],
        groups: Sequence[Any],
        own_project_id: uuid.UUID,
        **more: Any,
    ) -> None:
        super().__init__(data, groups=groups, **more)
        self.own_project_id = own_project_id
        network: Any = self.fields["network"]
        network.choices = [(str(one.pk), one.name or str(one.pk)) for one in networks]
        self.fields["fixed_addresses"].required = self.fields["mac"].required = False
        self.fields["fixed_addresses"].help_text = gettext("%(hint)s Empty: one of each IP version.") % {
            "hint": self.fields["fixed_addresses"].help_text
        }
        self.fields["mac"].help_text = _("Empty: a new one.")
        groups_field: Any = self.fields["security_groups"]
        groups_field.choices = [*groups_field.choices, (NO_GROUP, gettext("none: nothing passes but DHCP"))]
        groups_field.help_text = _("Who may reach it. None marked: the project's default group.")
        self.fields["has_security"] = forms.ChoiceField(
            label=_("Port security"),
            required=False,
            choices=[
                ("", _("as the network has it")),
                (CHECKED, _("on: rules and the check of its own addresses apply")),
                (UNCHECKED, _("off: it has no groups, and may send from any address")),
            ],
        )
        self.order_fields(self.field_order)

    def clean_project(self) -> uuid.UUID | None:
        """Its id; None where none is named."""
        if not (named := self.cleaned_data["project"]):
            return None
        try:
            return project_id_called(named)
        except NotFound as error:
            raise forms.ValidationError(refusal_text(error)) from error

    def clean_security_groups(self) -> list[str]:
        """None, or some."""
        chosen: list[str] = self.cleaned_data["security_groups"]
        if NO_GROUP in chosen and len(chosen) > 1:
            raise forms.ValidationError(gettext("Mark groups, or none, but not both."))
        return chosen

    def clean(self) -> dict[str, Any]:
        """Groups are of the project that has the port."""
        said = self.cleaned_data
        marked = set(said.get("security_groups", ())) - {NO_GROUP}
        if marked and said.get("project") not in (None, self.own_project_id):
            text = gettext("These are your own project's. Mark others than its default one once the port is made.")
            self.add_error("security_groups", text)
        return said

    @property
    def network_id(self) -> uuid.UUID | None:
        """Where it is to be."""
        chosen = self.cleaned_data.get("network")
        return uuid.UUID(chosen) if chosen else None

    def request(self, caller: Caller) -> PortRequest:
        """What the filled-in form asks for, of the caller's project where it names no other."""
        said = self.cleaned_data
        groups = said["security_groups"]
        return PortRequest(
            network_id=uuid.UUID(said["network"]),
            project_id=owner_of(caller, said.get("project")),
            name=said["name"],
            description=said["description"],
            mac=said["mac"],
            fixed=said["fixed_addresses"],
            group_ids=tuple(uuid.UUID(one) for one in groups if one != NO_GROUP) if groups else None,
            allowed_pairs=said["allowed_pairs"],
            has_security=said["has_security"] == CHECKED if said["has_security"] else None,
            is_enabled=said["is_enabled"],
            vnic_type=VnicType(said["vnic_type"] or VnicType.NORMAL),
            resource_request=said.get("resource_request", {}),
        )
