"""How many VCPU and PCPU a guest claims in Placement, and the trait its thread policy needs."""

from dataclasses import dataclass

from computeagent.protocol.topology import CpuPolicy, EmulatorThreads, ThreadPolicy
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.flavor_keys import HwRequest
from scheduling.topology.domain.numa.constraint import says_anything
from scheduling.topology.domain.numa.cpu_rules import (
    HYPERTHREADING,
    CpuRules,
    cpu_rules,
    explicit_cpu_counts,
    thread_policy,
)


@dataclass(frozen=True, slots=True)
class CpuCounts:
    """Of the un-suffixed group, before `resources:` overrides.

    `fallback_vcpu` is what a host that offers no PCPU (it pins on CPUs it reports as VCPU) must have instead, without
    the traits and without a CPU for emulator threads, as in Nova; None where there is no such way: nothing is pinned,
    or only some of the CPUs are.
    """

    vcpu: int
    pcpu: int = 0
    required: frozenset[str] = frozenset()
    forbidden: frozenset[str] = frozenset()
    fallback_vcpu: int | None = None


def cpu_counts(flavor: FlavorSnapshot, image: ImageSnapshot) -> CpuCounts:
    """Dedicated: all vCPUs as PCPU; mixed: the pinned ones; one PCPU more for isolated emulator threads.

    An explicit `resources:VCPU` or `resources:PCPU`, in any group, speaks for itself: nothing is added to it. Raises
    Invalid as `guest_topology` does. Source: Nova's translation of pinning policies.
    """
    if not says_anything(flavor, image):
        return CpuCounts(flavor.vcpus)
    hw_request = HwRequest(flavor, image)
    rules = cpu_rules(hw_request)
    if any(explicit_cpu_counts(hw_request).values()):
        return CpuCounts(0)
    required, forbidden = _thread_traits(hw_request)
    vcpu, pcpu = _split(rules, flavor.vcpus)
    fallback = flavor.vcpus if rules.policy is CpuPolicy.DEDICATED else None
    return CpuCounts(vcpu, pcpu, required, forbidden, fallback)


def _split(rules: CpuRules, vcpus: int) -> tuple[int, int]:
    if not rules.is_pinned:
        return vcpus, 0
    pinned = vcpus if rules.policy is CpuPolicy.DEDICATED else len(rules.pinned)
    return vcpus - pinned, pinned + (rules.emulator_threads is EmulatorThreads.ISOLATE)


def _thread_traits(hw_request: HwRequest) -> tuple[frozenset[str], frozenset[str]]:
    """By the thread policy alone: a trait that was given in so many words is in the request already."""
    policy, trait = thread_policy(hw_request), frozenset({HYPERTHREADING})
    return (
        trait if policy is ThreadPolicy.REQUIRE else frozenset(),
        trait if policy is ThreadPolicy.ISOLATE else frozenset(),
    )
