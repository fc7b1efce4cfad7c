"""This module derives amounts of resource classes and traits from flavor and image, as Nova derives its Placement
query.

Keys without a suffix make the un-suffixed group, which a tree of providers may serve together; `resources1:` and
`trait1:` make a group "1" that one provider must serve whole. Source: Nova's grammar of flavor extra specs.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from controlplane.kernel.errors import Invalid
from controlplane.kernel.reasons import RefusalReason
from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.derived_needs import derived_needs
from scheduling.domain.request.schedule_request import PortResources, ScheduleRequest
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.numa.cpu_counts import CpuCounts, cpu_counts

VCPU, PCPU, MEMORY_MB, DISK_GB = "VCPU", "PCPU", "MEMORY_MB", "DISK_GB"


@dataclass(frozen=True, slots=True)
class ResourceWords:
    """One resource class: the reason when it is short, and the unit of a refusal's numbers."""

    short: RefusalReason
    unit: str


_WORDS = {
    VCPU: ResourceWords(RefusalReason.VCPU_SHORT, ""),
    MEMORY_MB: ResourceWords(RefusalReason.RAM_SHORT, "MB"),
    DISK_GB: ResourceWords(RefusalReason.DISK_SHORT, "GB"),
}


def resource_words(resource_class: str) -> ResourceWords:
    """The words of a resource class; classes without words of their own are called by name, in the detail."""
    return _WORDS.get(resource_class) or ResourceWords(RefusalReason.RESOURCE_SHORT, "")


_RESOURCE_KEY = re.compile(r"^resources([A-Za-z0-9_-]{1,64})?:([A-Z0-9_]{1,255})$")
_TRAIT_KEY = re.compile(r"^trait([A-Za-z0-9_-]{1,64})?:([A-Z0-9_]{1,255})$")


POLICY_KEY = "group_policy"
GROUP_POLICIES = ("none", "isolate")
MAX_AMOUNT = 2**31 - 1
"""What Placement can count of one class."""


@dataclass(frozen=True, slots=True)
class GroupNeeds:
    """What one group asks for, with the traits of whoever serves it."""

    amounts: Mapping[str, int] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """What one instance needs. `notes` say which keys were ignored and why.

    `amounts`, `required` and `forbidden` are those of all groups together, which is what a host without nested or
    shared providers must have. `groups` holds each group by its suffix, the un-suffixed one as "". `fallback` is what
    hosts need that offer no PCPU at all and pin on what they report as VCPU; None where all hosts need the same.
    """

    amounts: Mapping[str, int]
    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    groups: Mapping[str, GroupNeeds] = field(default_factory=dict)
    group_policy: str | None = None
    fallback: "ResourceRequest | None" = None

    def on(self, *, has_pcpu: bool) -> "ResourceRequest":
        """What the request needs of a host that offers PCPU, or of one that does not."""
        return self if has_pcpu or self.fallback is None else self.fallback


def resource_request(request: ScheduleRequest) -> ResourceRequest:
    """What one instance of this request needs; raises Invalid where a trait is required and forbidden at once."""
    derived = derive_resources(
        request.flavor,
        request.image,
        is_bfv=request.is_bfv,
        required=request.required_traits,
        forbidden=request.forbidden_traits,
    )
    return _with_ports(derived, request.port_resources) if request.port_resources else derived


def _with_ports(derived: ResourceRequest, ports: Sequence[PortResources]) -> ResourceRequest:
    """The same with a group for each port. As in Nova, groups of ports may be served by one provider unless the flavor
    says `isolate`.
    """
    groups = {**derived.groups, **{one.suffix: GroupNeeds(one.amounts, one.required) for one in ports}}
    return replace(
        derived,
        amounts=_sums(groups.values()),
        required=derived.required.union(*(one.required for one in ports)),
        groups=groups,
        group_policy=derived.group_policy or "none",
        fallback=None if derived.fallback is None else _with_ports(derived.fallback, ports),
    )


def derive_resources(
    flavor: FlavorSnapshot,
    image: ImageSnapshot,
    *,
    is_bfv: bool = False,
    required: frozenset[str] = frozenset(),
    forbidden: frozenset[str] = frozenset(),
) -> ResourceRequest:
    """Amounts per resource class and traits: the flavor's sizes, then its overrides, then what other keys
    derive and the image's traits.

    Disk is root (none when booting from a volume), ephemeral and swap, rounded up to GiB. CPUs follow the CPU policy:
    dedicated ones are PCPU. An override of 0 removes its class; a bad override is ignored with a note. Raises Invalid
    for CPU policies that contradict each other. Source: Nova's resource request rules.
    """
    cpus = cpu_counts(flavor, image)
    derive = partial(_derived, flavor, image, is_bfv=is_bfv, required=required, forbidden=forbidden)
    if cpus.fallback_vcpu is None:
        return derive(cpus)
    return replace(derive(cpus), fallback=derive(CpuCounts(cpus.fallback_vcpu)))


def _derived(
    flavor: FlavorSnapshot,
    image: ImageSnapshot,
    cpus: CpuCounts,
    *,
    is_bfv: bool,
    required: frozenset[str],
    forbidden: frozenset[str],
) -> ResourceRequest:
    notes: list[str] = []
    specs = flavor.extra_specs
    amounts = _amounts(specs, _default_amounts(flavor, cpus, is_bfv=is_bfv), notes)
    wanted, unwanted = _traits(specs, "required", notes), _traits(specs, "forbidden", [])
    own = _traits(image.properties, "required", []).get("", frozenset())
    derived = derived_needs(flavor, image)
    amounts[""] |= derived.amounts  # what another key means wins over what `resources:` says of it
    wanted[""] = wanted.get("", frozenset()) | required | own | cpus.required | derived.required
    unwanted[""] = unwanted.get("", frozenset()) | forbidden | cpus.forbidden
    groups = {
        suffix: GroupNeeds(amounts.get(suffix, {}), wanted.get(suffix, frozenset()), unwanted.get(suffix, frozenset()))
        for suffix in dict.fromkeys((*amounts, *wanted, *unwanted))
    }
    _check_traits(groups)
    policy = group_policy(specs)
    if policy is None and POLICY_KEY in specs:
        notes.append(f"{POLICY_KEY}={specs[POLICY_KEY]} is ignored: none or isolate expected")
    return ResourceRequest(
        _sums(groups.values()),
        frozenset().union(*wanted.values()),
        frozenset().union(*unwanted.values()),
        tuple(notes),
        groups,
        policy,
    )


def _default_amounts(flavor: FlavorSnapshot, cpus: CpuCounts, *, is_bfv: bool) -> dict[str, int]:
    swap_gib = -(-flavor.swap_mib // 1024)
    disk_gib = (0 if is_bfv else flavor.root_gib) + flavor.ephemeral_gib + swap_gib
    return {VCPU: cpus.vcpu, PCPU: cpus.pcpu, MEMORY_MB: flavor.memory_mib, DISK_GB: disk_gib}


def _amounts(specs: Mapping[str, str], defaults: Mapping[str, int], notes: list[str]) -> dict[str, dict[str, int]]:
    """{suffix: {class: amount}}; classes of amount 0 and groups without any are left out, but the un-suffixed one."""
    found: dict[str, dict[str, int]] = {"": dict(defaults)}
    for key, text in specs.items():
        match = _RESOURCE_KEY.match(key)
        if match is None:
            continue
        amount = _amount(text)
        if amount is None:
            notes.append(f"{key}={text} is ignored: not a whole number from 0 to {MAX_AMOUNT}")
        else:
            suffix, name = match[1] or "", match[2]
            found.setdefault(suffix, {})[name] = amount
            if suffix and f"resources:{name}" not in specs:
                found[""].pop(name, None)  # a flavor's own size counts only where no group speaks of the class
    whole = {suffix: {name: one for name, one in group.items() if one > 0} for suffix, group in found.items()}
    return {suffix: group for suffix, group in whole.items() if group or not suffix}


def _sums(groups: Iterable[GroupNeeds]) -> dict[str, int]:
    total: dict[str, int] = {}
    for group in groups:
        for name, amount in group.amounts.items():
            total[name] = total.get(name, 0) + amount
    return total


def _amount(text: str) -> int | None:
    try:
        amount = int(text)
    except (TypeError, ValueError):
        return None
    return amount if 0 <= amount <= MAX_AMOUNT else None


def _traits(specs: Mapping[str, str], word: str, notes: list[str]) -> dict[str, frozenset[str]]:
    """{suffix: the traits that are said to be `word`}."""
    found: dict[str, frozenset[str]] = {}
    for key, value in specs.items():
        match = _TRAIT_KEY.match(key)
        if match is None:
            continue
        suffix = match[1] or ""
        if value == word:
            found[suffix] = found.get(suffix, frozenset()) | {match[2]}
        elif value not in ("required", "forbidden"):
            notes.append(f"{key}={value} is ignored: required or forbidden expected")
    return found


def _check_traits(groups: Mapping[str, GroupNeeds]) -> None:
    for suffix, group in groups.items():
        both = sorted(group.required & group.forbidden)
        if both:
            where = _(" in group {suffix}", suffix=suffix) if suffix else ""
            raise Invalid(
                _("trait {both} is both required and forbidden{where}", both=both[0], where=where), field="flavor"
            )


def group_policy(specs: Mapping[str, str]) -> str | None:
    """Whether a flavor with these keys lets several groups share one provider; None where it says nothing readable."""
    policy = specs.get(POLICY_KEY)
    return policy if policy in GROUP_POLICIES else None
