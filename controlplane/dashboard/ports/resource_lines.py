"""What a port asks of Placement, as lines: a group each, with its name, amounts and traits."""

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from controlplane.dashboard.ports.lines import Lines
from servers.networks.domain.port_resources import ResourceGroup


def resources_field() -> Lines:
    """The field of a port's form. The service says which classes and traits there are."""
    return Lines(
        group_of_line,
        write=group_line,
        label=_("What it asks of Placement"),
        help_text=_(
            "One group a line: a name, amounts, and the traits of the provider that is to serve them. "
            "bandwidth: NET_BW_EGR_KILOBIT_PER_SEC=5000 CUSTOM_PHYSNET_1. It may change while no instance has the port."
        ),
    )


def group_of_line(line: str) -> ResourceGroup:
    """`name: CLASS=amount … TRAIT …`. Raises ValidationError."""
    name, colon, rest = line.partition(":")
    resources: dict[str, int] = {}
    traits: list[str] = []
    for word in rest.split():
        key, equals, amount = word.partition("=")
        if not equals:
            traits.append(key)
        elif amount.isascii() and amount.isdigit() and len(amount) < 11 and key not in resources:
            resources[key] = int(amount)
        else:
            raise _wrong(line)
    if not colon or not resources:
        raise _wrong(line)
    return ResourceGroup(name.strip(), resources, tuple(sorted(traits)))


def group_line(group: ResourceGroup) -> str:
    """The line that is read as this."""
    amounts = (f"{name}={amount}" for name, amount in group.resources.items())
    return f"{group.name}: {' '.join((*amounts, *group.required))}"


def groups_by_name(groups: tuple[ResourceGroup, ...]) -> dict[str, Any]:
    """As the service and the API take them. Raises ValidationError for two of one name."""
    found = {group.name: group.to_dict() for group in groups}
    if len(found) < len(groups):
        raise forms.ValidationError(gettext("Two groups have the same name."))
    return found


def _wrong(line: str) -> forms.ValidationError:
    return forms.ValidationError(
        gettext("“%(line)s” is not a name, a colon, and amounts such as NET_BW_EGR_KILOBIT_PER_SEC=5000.")
        % {"line": line.strip()[:80]}
    )
