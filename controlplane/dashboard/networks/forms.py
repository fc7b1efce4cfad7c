"""The forms of networks and subnets, the same values as in `/api/`."""

import uuid
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from computeagent.protocol.networks import Ipv6Mode, NetworkBackendKind
from controlplane.dashboard.networks.pairs_of_lines import pools_field, routes_field, routes_of_pairs
from controlplane.dashboard.networks.tags import tags_field
from controlplane.identity.domain import Caller
from servers.networks.domain.networks import NetworkRequest
from servers.networks.domain.subnets import FIRST_HOST, SubnetRequest

OF_ADMINS = ("kind", "physical_network", "is_shared", "is_external", "is_default")


class SubnetEditForm(forms.Form):
    """A range of addresses: its name, and what it tells its guests; all of it may be changed later."""

    name = forms.CharField(label=_("Name"), required=False, strip=False, help_text=_("Up to 255 characters."))
    description = forms.CharField(label=_("Description"), required=False, strip=False)
    gateway = forms.CharField(
        label=_("Gateway"),
        required=False,
        help_text=_("Where a router answers. Empty: the first address. A hyphen: there is none."),
    )
    dns_servers = forms.CharField(
        label=_("Name servers"),
        required=False,
        help_text=_("Addresses with spaces between, such as 9.9.9.9."),
    )
    has_dhcp = forms.BooleanField(
        label=_("Guests get their addresses by DHCP"),
        required=False,
        initial=True,
        help_text=_("Off: by config drive."),
    )
    pools = pools_field()
    routes = routes_field(_("What guests are told besides: 10.9.0.0/16 10.1.0.7 leads there over that address."))
    tags = tags_field()

    def values(self) -> dict[str, Any]:
        """The values of the filled-in form, as services name and take them."""
        said = self.cleaned_data
        gateway = said["gateway"].strip()
        return {
            "name": said["name"],
            "description": said["description"],
            "gateway": None if gateway == "-" else gateway or FIRST_HOST,
            "has_dhcp": said["has_dhcp"],
            "dns_servers": tuple(said["dns_servers"].replace(",", " ").split()),
            "pools": said.get("pools") or None,
            "routes": routes_of_pairs(said.get("routes") or ()),
        }


class SubnetPageForm(SubnetEditForm):
    """A new range of addresses."""

    cidr = forms.CharField(
        label=_("Addresses"),
        help_text=_("A range such as 10.1.0.0/24 or fd00:1::/64, apart from the other subnets here."),
    )
    ipv6_mode = forms.ChoiceField(
        label=_("IPv6 addresses"),
        required=False,
        choices=[
            ("", _("are given by DHCP")),
            (Ipv6Mode.SLAAC.value, _("are made by guests of the advertised prefix (SLAAC)")),
            (Ipv6Mode.STATELESS.value, _("are made by guests, the rest is told by DHCP")),
        ],
        help_text=_("For a range of IPv6. It stays as it is."),
    )
    field_order = (
        "cidr",
        "name",
        "description",
        "gateway",
        "dns_servers",
        "has_dhcp",
        "ipv6_mode",
        "pools",
        "routes",
        "tags",
    )

    def request_in(self, network_id: uuid.UUID) -> SubnetRequest:
        """What the filled-in form asks for."""
        said = self.cleaned_data
        cidr, mode = said["cidr"].strip(), said["ipv6_mode"]
        return SubnetRequest(network_id=network_id, cidr=cidr, ipv6_mode=mode, **self.values())


class NetworkPageForm(SubnetPageForm):
    """A network with its first subnet; what only admins may ask for is there for them alone."""

    name = forms.CharField(label=_("Name"), strip=False, help_text=_("Up to 255 characters."))
    description = forms.CharField(label=_("Description"), required=False)
    kind = forms.ChoiceField(
        label=_("Carried by"),
        required=False,
        choices=[
            ("", _("what the installation gives projects")),
            ("bridge", _("bridges of the hosts")),
            ("ovn", "OVN"),
        ],
    )
    physical_network = forms.CharField(
        label=_("Outside network"),
        required=False,
        help_text=_("The name that hosts map to a bridge. Empty: it is inside."),
    )
    is_shared = forms.BooleanField(label=_("Shared: every project may have ports in it"), required=False)
    is_external = forms.BooleanField(label=_("External: routers lead out by it"), required=False)
    is_default = forms.BooleanField(label=_("Default: for instances that ask for no network"), required=False)

    def __init__(self, *args: Any, is_admin: bool, **more: Any) -> None:
        super().__init__(*args, **more)
        del self.fields["pools"], self.fields["routes"]
        self.fields["cidr"].required = False
        self.fields["cidr"].help_text = gettext("%(hint)s Empty: no subnet yet.") % {
            "hint": self.fields["cidr"].help_text
        }
        order = ["name", "description", "cidr", "gateway", "dns_servers", "has_dhcp", "ipv6_mode", "tags", *OF_ADMINS]
        self.order_fields(order)
        if not is_admin:
            for name in OF_ADMINS:
                del self.fields[name]

    def values(self) -> dict[str, Any]:
        """Of the subnet, which has neither the name of the network nor another one."""
        return {name: value for name, value in super().values().items() if name not in {"name", "description"}}

    def network_request(self, caller: Caller) -> NetworkRequest:
        """What the filled-in form asks for, of the caller's project."""
        said = {name: self.cleaned_data.get(name) for name in OF_ADMINS}
        return NetworkRequest(
            project_id=caller.project_id,
            name=self.cleaned_data["name"],
            description=self.cleaned_data["description"],
            kind=NetworkBackendKind(said["kind"]) if said["kind"] else None,
            physical_network=said["physical_network"] or "",
            is_shared=bool(said["is_shared"]),
            is_external=bool(said["is_external"]),
            is_default=bool(said["is_default"]),
        )


class NetworkEditForm(forms.Form):
    """What may be changed later."""

    name = forms.CharField(label=_("Name"), strip=False)
    description = forms.CharField(label=_("Description"), required=False)
    tags = tags_field()
    mtu = forms.IntegerField(
        label="MTU", min_value=1, help_text=_("Bytes. Guests hear of it with their next lease."),
        widget=forms.NumberInput(attrs={"class": "short"}),
    )  # fmt: skip
    is_enabled = forms.BooleanField(label=_("Enabled: it passes traffic"), required=False)
    has_port_security = forms.BooleanField(label=_("New ports are checked and have security groups"), required=False)
    is_shared = forms.BooleanField(label=_("Shared: every project may have ports in it"), required=False)
    is_external = forms.BooleanField(label=_("External: routers lead out by it"), required=False)
    is_default = forms.BooleanField(label=_("Default: for instances that ask for no network"), required=False)

    def __init__(self, *args: Any, is_admin: bool, **more: Any) -> None:
        super().__init__(*args, **more)
        if not is_admin:
            for name in ("is_shared", "is_external", "is_default"):
                del self.fields[name]
