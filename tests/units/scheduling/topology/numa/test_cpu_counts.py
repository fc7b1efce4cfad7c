"""Section 5.3: VCPU and PCPU that Placement is asked for."""

import pytest

from scheduling.topology.domain.numa.cpu_counts import CpuCounts, cpu_counts
from tests.units.scheduling.topology.numa.topologies import hw_request

SMT = frozenset({"HW_CPU_HYPERTHREADING"})


def amounts(others: dict[str, str] | None = None, **specs: str) -> CpuCounts:
    asked = hw_request(**specs)
    asked.flavor.extra_specs.update(others or {})  # type: ignore[attr-defined]
    return cpu_counts(asked.flavor, asked.image)


def test_without_a_policy_all_are_vcpu() -> None:
    assert amounts() == CpuCounts(4)


def test_dedicated_are_pcpu_with_vcpu_as_fallback() -> None:
    assert amounts(cpu_policy="dedicated") == CpuCounts(0, 4, fallback_vcpu=4)


def test_mixed_are_pcpu_by_the_mask_without_fallback() -> None:
    assert amounts(cpu_policy="mixed", cpu_dedicated_mask="3") == CpuCounts(3, 1)


def test_mixed_are_pcpu_by_realtime() -> None:
    found = amounts(cpu_policy="mixed", cpu_realtime="true", cpu_realtime_mask="^0")
    assert (found.vcpu, found.pcpu) == (1, 3)


def test_isolated_emulator_threads_are_one_pcpu_more() -> None:
    found = amounts(cpu_policy="dedicated", emulator_threads_policy="isolate")
    assert (found.vcpu, found.pcpu, found.fallback_vcpu) == (0, 5, 4)


@pytest.mark.parametrize(
    ("policy", "required", "forbidden"),
    [("require", SMT, frozenset()), ("isolate", frozenset(), SMT), ("prefer", frozenset(), frozenset())],
)
def test_thread_policy_is_a_trait(policy: str, required: frozenset[str], forbidden: frozenset[str]) -> None:
    found = amounts(cpu_policy="dedicated", cpu_thread_policy=policy)
    assert (found.required, found.forbidden) == (required, forbidden)


@pytest.mark.parametrize("key", ["resources:VCPU", "resources:PCPU", "resources1:PCPU"])
def test_explicit_amounts_have_nothing_added(key: str) -> None:
    assert amounts({key: "4"}) == CpuCounts(0)
