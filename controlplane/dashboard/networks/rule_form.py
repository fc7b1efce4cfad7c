"""The form of a security group's rule: what passes by its usual name, or spelled out."""

import ipaddress
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from computeagent.protocol.networks import Direction
from controlplane.kernel.texts import gettext_noop
from servers.networks.domain.rules import ICMP, RuleRequest

OTHER = "other"
BOTH = "both"


@dataclass(frozen=True, slots=True)
class Preset:
    """What people look for by name; pages translate `label`. Without ports: all of the protocol."""

    label: str
    protocol: str
    port: int | None = None


PRESETS = {
    "ssh": Preset("SSH (TCP 22)", "tcp", 22),
    "http": Preset("HTTP (TCP 80)", "tcp", 80),
    "https": Preset("HTTPS (TCP 443)", "tcp", 443),
    "ping": Preset(gettext_noop("Ping and other ICMP"), ICMP),
    "rdp": Preset(gettext_noop("Remote Desktop (TCP 3389)"), "tcp", 3389),
    "dns": Preset("DNS (UDP 53)", "udp", 53),
    "postgresql": Preset("PostgreSQL (TCP 5432)", "tcp", 5432),
    "mysql": Preset("MySQL (TCP 3306)", "tcp", 3306),
    "tcp": Preset(gettext_noop("All TCP"), "tcp"),
    "udp": Preset(gettext_noop("All UDP"), "udp"),
    "any": Preset(gettext_noop("Everything"), ""),
}


class RulePageForm(forms.Form):
    """One rule, or two that say the same of IPv4 and IPv6."""

    preset = forms.ChoiceField(
        label=_("What"),
        choices=[*((name, _(one.label)) for name, one in PRESETS.items()), (OTHER, _("Something else: say it below"))],
    )
    direction = forms.ChoiceField(
        label=_("Direction"),
        choices=[
            (Direction.INGRESS.value, _("comes in to the instances")),
            (Direction.EGRESS.value, _("goes out of them")),
        ],
    )
    protocol = forms.CharField(
        label=_("Protocol"), required=False, help_text=_("For something else: tcp, udp, a name or a number.")
    )
    ports = forms.CharField(
        label=_("Ports"),
        required=False,
        help_text=_("For something else: 8080, or 8000-8100. Of ICMP: type, or type-code. Empty: all."),
    )
    remote_cidr = forms.CharField(
        label=_("Addresses"),
        required=False,
        help_text=_("Whom from or to: 192.0.2.7, or 10.0.0.0/8. Empty: anywhere, or the group below."),
    )
    remote_group = forms.ChoiceField(
        label=_("Or a security group"),
        required=False,
        help_text=_("From or to all instances that are in it, in the same networks."),
    )
    version = forms.ChoiceField(
        label=_("IP version"),
        choices=[(BOTH, _("IPv4 and IPv6")), ("4", "IPv4"), ("6", "IPv6")],
        help_text=_("Where addresses are named, they say it."),
    )
    description = forms.CharField(
        label=_("Description"), required=False, help_text=_("Why, for those who come after you.")
    )

    def __init__(self, data: Any = None, *, groups: Sequence[Any], **more: Any) -> None:
        super().__init__(data, **more)
        field: Any = self.fields["remote_group"]
        field.choices = [("", gettext("none")), *((str(group.pk), group.name) for group in groups)]

    def clean_remote_cidr(self) -> str:
        """One address is a range of one."""
        text = str(self.cleaned_data["remote_cidr"]).strip()
        try:
            return str(ipaddress.ip_network(text, strict=False)) if text else ""
        except ValueError:
            said = gettext("%(text)s is no address, and no range such as 10.0.0.0/8.") % {"text": text[:60]}
            raise forms.ValidationError(said) from None

    def clean_ports(self) -> tuple[int | None, int | None]:
        """First and last; a single number of something with ports is both."""
        first, dash, last = str(self.cleaned_data["ports"]).replace(" ", "").partition("-")
        if not first:
            return None, None
        if not all(
            part.isdecimal() and part.isascii() and len(part) < 7 for part in (first, *([last] if dash else []))
        ):
            raise forms.ValidationError(gettext("Say a number, or the first and the last such as 8000-8100."))
        return int(first), int(last) if dash else None

    def rules(self) -> list[RuleRequest]:
        """What the filled-in form asks for."""
        said = self.cleaned_data
        preset = PRESETS.get(said["preset"])
        protocol = preset.protocol if preset else said["protocol"].strip()
        first, last = (preset.port, preset.port) if preset else said["ports"]
        if preset is None and last is None and not protocol.lower().startswith(("icmp", "ipv6-icmp")):
            last = first
        return [
            RuleRequest(
                direction=said["direction"],
                ip_version=version,
                protocol=protocol,
                port_min=first,
                port_max=last,
                remote_cidr=said["remote_cidr"],
                remote_group_id=uuid.UUID(said["remote_group"]) if said["remote_group"] else None,
                description=said["description"],
            )
            for version in self._versions()
        ]

    def _versions(self) -> list[int]:
        said = self.cleaned_data
        if said["remote_cidr"]:
            return [ipaddress.ip_network(said["remote_cidr"]).version]
        return [4, 6] if said["version"] == BOTH else [int(said["version"])]
