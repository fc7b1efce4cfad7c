"""What a port asks of Placement, such as bandwidth: groups of amounts, each served whole by one provider."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.kernel.texts import phrase as _
from placement.domain import MAX_INT, is_custom, standard_resource_classes, standard_traits
from servers.fields import Reasons, whole_number_reasons

MAX_RESOURCE_GROUPS = 8
MAX_RESOURCES = 8
"""Resource classes of one group."""
MAX_TRAITS = 16
"""Required traits of one group."""
KEYS = ("resources", "required")
_GROUP_NAME = re.compile(r"[A-Za-z0-9_-]{1,26}")
"""With the port's id before it, it is a suffix of Placement, which has 64 characters."""


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """`resources`: amounts by resource class, in its unit. `required`: traits of the provider that serves them."""

    name: str
    resources: Mapping[str, int]
    required: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As a row's JSON has it, under the name."""
        return {"resources": dict(self.resources), "required": list(self.required)}


def resource_groups(asked: Mapping[str, Any]) -> tuple[ResourceGroup, ...]:
    """The groups of a request without problems, by name."""
    return tuple(
        ResourceGroup(name, group["resources"], tuple(sorted(group.get("required", ()))))
        for name, group in sorted(asked.items())
    )


def resource_request_canonical(asked: Mapping[str, Any]) -> dict[str, Any]:
    """As rows have it."""
    return {group.name: group.to_dict() for group in resource_groups(asked)}


def resource_request_reasons(asked: object) -> Reasons:
    """An object of groups by name: each has `resources`, whole positive amounts by resource class, and may have
    `required`, a list of traits. Names are standard ones, or begin with CUSTOM_. Empty: the port asks for nothing.
    """
    if not isinstance(asked, Mapping):
        return [_("Must be an object of groups, not {asked!r:.40}.", asked=asked)]
    if len(asked) > MAX_RESOURCE_GROUPS:
        return [
            _(
                "Has {count} groups; at most {max_resource_groups} are allowed.",
                count=len(asked),
                max_resource_groups=MAX_RESOURCE_GROUPS,
            )
        ]
    reasons: Reasons = []
    for name, group in asked.items():
        said = _group_reasons(group)
        if not _GROUP_NAME.fullmatch(str(name)):
            said = [_("A name has 1 to 26 letters of ASCII, digits, _ and -.")]
        reasons += [_("Group {name!r:.40}: {reason}", name=name, reason=reason) for reason in said]
    return reasons


def _group_reasons(group: object) -> Reasons:
    if not isinstance(group, Mapping):
        return [_("Must be an object of resources and required, not {group!r:.40}.", group=group)]
    if unknown := sorted(str(key) for key in group if key not in KEYS):
        return [_("There is no {key!r:.40} here, only resources and required.", key=unknown[0])]
    return [*_resources_reasons(group.get("resources")), *_required_reasons(group.get("required", ()))]


def _resources_reasons(resources: object) -> Reasons:
    if not isinstance(resources, Mapping) or not resources:
        return [_("resources must be an object of amounts by resource class, with at least one.")]
    if len(resources) > MAX_RESOURCES:
        return [
            _(
                "resources has {count} classes; at most {max_resources} are allowed.",
                count=len(resources),
                max_resources=MAX_RESOURCES,
            )
        ]
    reasons: Reasons = []
    for name, amount in resources.items():
        if not _is_known(name, standard_resource_classes):
            reasons.append(
                _("{name!r:.60} is no resource class: neither a standard one nor CUSTOM_ with capitals.", name=name)
            )
        said = whole_number_reasons(amount, minimum=1, maximum=MAX_INT)
        reasons += [_("{name:.60}: {reason}", name=name, reason=reason) for reason in said]
    return reasons


def _required_reasons(required: object) -> Reasons:
    if not isinstance(required, list | tuple):
        return [_("required must be a list of traits.")]
    if len(required) > MAX_TRAITS:
        return [
            _(
                "required has {count} traits; at most {max_traits} are allowed.",
                count=len(required),
                max_traits=MAX_TRAITS,
            )
        ]
    reasons: Reasons = [
        _("{name!r:.60} is no trait: neither a standard one nor CUSTOM_ with capitals.", name=name)
        for name in required
        if not _is_known(name, standard_traits)
    ]
    if not reasons and len(set(required)) < len(required):
        reasons.append(_("required has a trait twice."))
    return reasons


def _is_known(name: object, standard: Callable[[], frozenset[str]]) -> bool:
    return isinstance(name, str) and (is_custom(name) or name in standard())
