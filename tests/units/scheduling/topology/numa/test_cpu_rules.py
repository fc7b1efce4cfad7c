"""Rules 1 to 4 of the guest constraint: policies, explicit resources, and what excludes what."""

from typing import Any

import pytest

from computeagent.protocol.topology import CpuPolicy, EmulatorThreads, ThreadPolicy
from controlplane.kernel.errors import Invalid
from scheduling.topology.domain.numa.cpu_rules import CpuRules, cpu_rules
from tests.units.scheduling.topology.numa.topologies import hw_request

DEDICATED = {"cpu_policy": "dedicated"}
MIXED = {"cpu_policy": "mixed"}


def rules(**changes: Any) -> CpuRules:
    return cpu_rules(hw_request(**changes))


def fails(field: str, **changes: Any) -> None:
    with pytest.raises(Invalid) as caught:
        rules(**changes)
    assert caught.value.field == field
    assert field in caught.value.message


def others(**changes: Any) -> Any:
    specs, properties = changes.pop("specs"), changes.pop("properties", {})
    asked = hw_request(properties=properties, **changes)
    asked.flavor.extra_specs.update(specs)  # type: ignore[attr-defined]
    return asked


@pytest.mark.parametrize(
    ("flavor", "image", "policy"),
    [
        ("dedicated", "shared", CpuPolicy.DEDICATED),
        ("dedicated", "mixed", CpuPolicy.DEDICATED),
        ("shared", "shared", CpuPolicy.SHARED),
        (None, "dedicated", CpuPolicy.DEDICATED),
        (None, "shared", CpuPolicy.SHARED),
        (None, None, None),
    ],
)
def test_cpu_policy_of_flavor_and_image(flavor: str | None, image: str | None, policy: CpuPolicy | None) -> None:
    specs = {"cpu_policy": flavor} if flavor else {}
    assert rules(properties={"hw_cpu_policy": image} if image else {}, **specs).policy is policy


@pytest.mark.parametrize(("flavor", "image"), [("mixed", "dedicated"), ("shared", "mixed"), ("shared", "dedicated")])
def test_cpu_policy_of_image_that_contradicts_is_refused(flavor: str, image: str) -> None:
    fails("hw_cpu_policy", cpu_policy=flavor, properties={"hw_cpu_policy": image}, cpu_dedicated_mask="0")


def test_unknown_cpu_policy_names_the_key() -> None:
    fails("hw:cpu_policy", cpu_policy="pinned")
    fails("hw_cpu_policy", properties={"hw_cpu_policy": "pinned"})


def test_dedicated_pins_every_vcpu() -> None:
    assert rules(**DEDICATED).pinned == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("flavor", "image", "policy"),
    [
        ("prefer", "isolate", ThreadPolicy.PREFER),
        (None, "isolate", ThreadPolicy.ISOLATE),
        ("require", "require", ThreadPolicy.REQUIRE),
        ("isolate", None, ThreadPolicy.ISOLATE),
        (None, None, None),
    ],
)
def test_thread_policy_of_flavor_and_image(flavor: str | None, image: str | None, policy: ThreadPolicy | None) -> None:
    specs = {"cpu_thread_policy": flavor} if flavor else {}
    properties = {"hw_cpu_thread_policy": image} if image else {}
    assert rules(properties=properties, **DEDICATED, **specs).threads is policy


def test_thread_policy_of_image_that_contradicts_is_refused() -> None:
    properties = {"hw_cpu_thread_policy": "isolate"}
    fails("hw_cpu_thread_policy", properties=properties, cpu_thread_policy="require", **DEDICATED)


def test_explicit_resources_beside_a_cpu_policy_are_refused() -> None:
    for name in ("VCPU", "PCPU"):
        with pytest.raises(Invalid, match=f"resources:{name}"):
            cpu_rules(others(specs={f"resources:{name}": "4", "hw:cpu_policy": "dedicated"}))


def test_explicit_vcpu_and_pcpu_exclude_each_other() -> None:
    with pytest.raises(Invalid, match="exclude each other"):
        cpu_rules(others(specs={"resources:VCPU": "2", "resources:PCPU": "2"}))


def test_explicit_pcpu_implies_dedicated() -> None:
    found = cpu_rules(others(specs={"resources:PCPU": "4"}))
    assert (found.policy, found.pinned) == (CpuPolicy.DEDICATED, {0, 1, 2, 3})


def test_explicit_pcpu_in_a_group_counts() -> None:
    assert cpu_rules(others(specs={"resources_CPUS:PCPU": "4"})).policy is CpuPolicy.DEDICATED


def test_explicit_pcpu_must_equal_the_vcpus() -> None:
    with pytest.raises(Invalid, match="is 3, must be 4"):
        cpu_rules(others(specs={"resources:PCPU": "3"}))


def test_explicit_pcpu_is_one_more_with_isolated_emulator_threads() -> None:
    specs = {"resources:PCPU": "5", "hw:emulator_threads_policy": "isolate"}
    assert cpu_rules(others(specs=specs)).emulator_threads is EmulatorThreads.ISOLATE
    with pytest.raises(Invalid, match="is 4, must be 5"):
        cpu_rules(others(specs={**specs, "resources:PCPU": "4"}))


def test_explicit_vcpu_implies_shared() -> None:
    assert cpu_rules(others(specs={"resources:VCPU": "4"})).policy is CpuPolicy.SHARED


@pytest.mark.parametrize(("word", "policy"), [("forbidden", ThreadPolicy.ISOLATE), ("required", ThreadPolicy.REQUIRE)])
def test_hyperthreading_trait_is_a_thread_policy(word: str, policy: ThreadPolicy) -> None:
    specs = {"trait:HW_CPU_HYPERTHREADING": word, "hw:cpu_policy": "dedicated"}
    assert cpu_rules(others(specs=specs)).threads is policy


def test_hyperthreading_trait_of_the_image_is_require() -> None:
    found = rules(properties={"trait:HW_CPU_HYPERTHREADING": "required"}, **DEDICATED)
    assert found.threads is ThreadPolicy.REQUIRE


def test_hyperthreading_trait_beside_a_thread_policy_is_refused() -> None:
    specs = {
        "trait:HW_CPU_HYPERTHREADING": "required",
        "hw:cpu_policy": "dedicated",
        "hw:cpu_thread_policy": "prefer",
    }
    with pytest.raises(Invalid, match="trait:HW_CPU_HYPERTHREADING"):
        cpu_rules(others(specs=specs))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cpu_thread_policy", "prefer"),
        ("emulator_threads_policy", "isolate"),
        ("cpu_dedicated_mask", "0-1"),
        ("cpu_realtime", "yes"),
    ],
)
@pytest.mark.parametrize("policy", [{}, {"cpu_policy": "shared"}])
def test_shared_cpus_reject_what_needs_pinning(key: str, value: str, policy: dict[str, str]) -> None:
    mask = {"cpu_realtime_mask": "0"} if key == "cpu_realtime" else {}
    fails(f"hw:{key}", **{key: value}, **policy, **mask)


def test_shared_cpus_may_share_emulator_threads() -> None:
    assert rules(emulator_threads_policy="share").emulator_threads is EmulatorThreads.SHARE


def test_unknown_emulator_threads_policy_names_the_key() -> None:
    fails("hw:emulator_threads_policy", emulator_threads_policy="pin", **DEDICATED)


def test_dedicated_rejects_a_dedicated_mask() -> None:
    fails("hw:cpu_dedicated_mask", cpu_dedicated_mask="0-1", **DEDICATED)


def test_mixed_pins_the_dedicated_mask() -> None:
    assert rules(cpu_dedicated_mask="^0-2", **MIXED).pinned == {3}


def test_mixed_pins_the_realtime_cpus() -> None:
    found = rules(cpu_realtime="true", cpu_realtime_mask="^0", **MIXED)
    assert (found.pinned, found.realtime) == ({1, 2, 3}, {1, 2, 3})


def test_mixed_needs_one_of_the_masks() -> None:
    fails("hw:cpu_dedicated_mask", **MIXED)


def test_mixed_rejects_both_masks() -> None:
    fails("hw:cpu_dedicated_mask", cpu_dedicated_mask="1", cpu_realtime="1", cpu_realtime_mask="^0", **MIXED)


@pytest.mark.parametrize("mask", ["0-3", "^0-3", "2-5"])
def test_dedicated_mask_is_some_but_not_all_vcpus(mask: str) -> None:
    fails("hw:cpu_dedicated_mask", cpu_dedicated_mask=mask, **MIXED)


def test_realtime_mask_of_the_image_beats_the_flavors() -> None:
    properties = {"hw_cpu_realtime_mask": "^0-1"}
    found = rules(properties=properties, cpu_realtime="1", cpu_realtime_mask="^0", **DEDICATED)
    assert found.realtime == {2, 3}


def test_realtime_on_all_vcpus_needs_an_emulator_policy() -> None:
    fails("hw:cpu_realtime_mask", cpu_realtime="1", **DEDICATED)
    found = rules(cpu_realtime="1", emulator_threads_policy="share", **DEDICATED)
    assert found.realtime == {0, 1, 2, 3}


def test_realtime_mask_is_a_subset_of_the_vcpus() -> None:
    fails("hw:cpu_realtime_mask", cpu_realtime="1", cpu_realtime_mask="2-7", **DEDICATED)


def test_realtime_mask_of_no_vcpu_is_refused() -> None:
    fails("hw:cpu_realtime_mask", cpu_realtime="1", cpu_realtime_mask="^0-3", **DEDICATED)


def test_realtime_mask_without_realtime_is_not_looked_at() -> None:
    assert rules(cpu_realtime_mask="9", **DEDICATED).realtime == frozenset()


@pytest.mark.parametrize(
    ("specs", "properties", "field", "words"),
    [
        ({"trait_gpu:HW_CPU_HYPERTHREADING": "required"}, {}, "trait_gpu:HW_CPU_HYPERTHREADING", "needs pinned CPUs"),
        ({"trait1:HW_CPU_HYPERTHREADING": "forbidden"}, {}, "trait1:HW_CPU_HYPERTHREADING", "needs pinned CPUs"),
        ({}, {"trait:HW_CPU_HYPERTHREADING": "required"}, "trait:HW_CPU_HYPERTHREADING", "needs pinned CPUs"),
        ({"hw:cpu_thread_policy": "require"}, {}, "hw:cpu_thread_policy", "needs pinned CPUs"),
        ({}, {"hw_cpu_thread_policy": "require"}, "hw_cpu_thread_policy", "needs pinned CPUs"),
        (
            {"trait_gpu:HW_CPU_HYPERTHREADING": "required", "hw:cpu_thread_policy": "isolate"},
            {},
            "trait_gpu:HW_CPU_HYPERTHREADING",
            "cannot be combined",
        ),
        ({"resources_gpu:PCPU": "1", "hw:cpu_policy": "dedicated"}, {}, "resources_gpu:PCPU", "cannot be combined"),
        ({"resources_gpu:PCPU": "1"}, {}, "resources_gpu:PCPU", "is 1, must be 4"),
        ({"resources:PCPU": "2", "resources_gpu:PCPU": "1"}, {}, "resources:PCPU", "is 3, must be 4"),
        ({"resources1:VCPU": "2", "resources_gpu:PCPU": "1"}, {}, "resources_gpu:PCPU", "exclude each other"),
    ],
)
def test_error_names_the_key_that_was_given(
    specs: dict[str, str], properties: dict[str, str], field: str, words: str
) -> None:
    with pytest.raises(Invalid, match=words) as caught:
        cpu_rules(others(specs=specs, properties=properties))
    assert caught.value.field == field
    assert field in caught.value.message
