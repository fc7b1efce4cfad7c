"""From flavor and image to amounts of resource classes and traits, as Nova derives its Placement query.

Knows the un-suffixed request group and treats suffixed groups (`resources1:`, `trait1:`) as one with it: our hosts
are single providers, where `group_policy=none` means just that.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.kernel.errors import Invalid
from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.request import FlavorSnapshot, ImageSnapshot, ScheduleRequest

VCPU, MEMORY_MB, DISK_GB = "VCPU", "MEMORY_MB", "DISK_GB"


@dataclass(frozen=True, slots=True)
class ResourceWords:
    """How one resource class is spoken of: the reason when short, the unit, and the words after a number."""

    short: RefusalReason
    unit: str
    words: str


_WORDS = {
    VCPU: ResourceWords(RefusalReason.VCPU_SHORT, "", "vcpu"),
    MEMORY_MB: ResourceWords(RefusalReason.RAM_SHORT, "MB", "MB ram"),
    DISK_GB: ResourceWords(RefusalReason.DISK_SHORT, "GB", "GB disk"),
}


def resource_words(resource_class: str) -> ResourceWords:
    """The words of a resource class; classes without words of their own are called by name."""
    return _WORDS.get(resource_class) or ResourceWords(RefusalReason.RESOURCE_SHORT, "", resource_class)


_RESOURCE_KEY = re.compile(r"^resources([A-Za-z0-9_-]{1,64})?:([A-Z0-9_]{1,255})$")
_TRAIT_KEY = re.compile(r"^trait([A-Za-z0-9_-]{1,64})?:([A-Z0-9_]{1,255})$")


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """What one instance needs of a provider. `notes` say which keys were ignored and why."""

    amounts: Mapping[str, int]
    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def resource_request(request: ScheduleRequest) -> ResourceRequest:
    """What one instance of this request needs; raises Invalid where a trait is required and forbidden at once."""
    return derive_resources(
        request.flavor,
        request.image,
        is_bfv=request.is_bfv,
        required=request.required_traits,
        forbidden=request.forbidden_traits,
    )


def derive_resources(
    flavor: FlavorSnapshot,
    image: ImageSnapshot,
    *,
    is_bfv: bool = False,
    required: frozenset[str] = frozenset(),
    forbidden: frozenset[str] = frozenset(),
) -> ResourceRequest:
    """Amounts per resource class and traits: flavor's size, then its overrides, then the image's traits.

    Disk is root (none when booting from a volume), ephemeral and swap, rounded up to GiB. An override of 0 removes
    its class; a bad override is ignored with a note. Source: Nova's resource request rules.
    """
    notes: list[str] = []
    amounts = _with_overrides(_default_amounts(flavor, is_bfv=is_bfv), flavor.extra_specs, notes)
    wanted = _traits(flavor.extra_specs, "required", notes) | required
    wanted |= _traits(image.properties, "required", [])
    unwanted = _traits(flavor.extra_specs, "forbidden", []) | forbidden
    both = sorted(wanted & unwanted)
    if both:
        raise Invalid(f"trait {both[0]} is both required and forbidden", field="flavor")
    return ResourceRequest(amounts, frozenset(wanted), frozenset(unwanted), tuple(notes))


def _default_amounts(flavor: FlavorSnapshot, *, is_bfv: bool) -> dict[str, int]:
    swap_gib = -(-flavor.swap_mib // 1024)
    disk_gib = (0 if is_bfv else flavor.root_gib) + flavor.ephemeral_gib + swap_gib
    return {VCPU: flavor.vcpus, MEMORY_MB: flavor.memory_mib, DISK_GB: disk_gib}


def _with_overrides(amounts: dict[str, int], extra_specs: Mapping[str, str], notes: list[str]) -> dict[str, int]:
    granular: dict[str, int] = {}
    for key, text in extra_specs.items():
        found = _RESOURCE_KEY.match(key)
        if found is None:
            continue
        amount = _amount(text)
        if amount is None:
            notes.append(f"{key}={text} is ignored: not a whole number of 0 or more")
        elif found[1]:
            granular[found[2]] = granular.get(found[2], 0) + amount
        else:
            amounts[found[2]] = amount
    for name, amount in granular.items():
        amounts[name] = amounts.get(name, 0) + amount
    return {name: amount for name, amount in amounts.items() if amount > 0}


def _amount(text: str) -> int | None:
    try:
        amount = int(text)
    except (TypeError, ValueError):
        return None
    return amount if amount >= 0 else None


def _traits(specs: Mapping[str, str], word: str, notes: list[str]) -> set[str]:
    found: set[str] = set()
    for key, value in specs.items():
        match = _TRAIT_KEY.match(key)
        if match is None:
            continue
        if value == word:
            found.add(match[2])
        elif value not in ("required", "forbidden"):
            notes.append(f"{key}={value} is ignored: required or forbidden expected")
    return found
