"""What is refused when a flavor is saved is refused at its boot, and what no image can boot is refused when saved."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.kernel.errors import Invalid
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.numa.constraint import guest_topology
from servers.catalog.domain.extra_specs import extra_spec_problems
from servers.catalog.domain.extra_specs.cpu_contradictions import CPU_CONTRADICTIONS
from servers.catalog.domain.extra_specs.facts import FlavorFacts
from servers.catalog.domain.extra_specs.numa_contradictions import NUMA_CONTRADICTIONS

CPU_KEYS = {
    "hw:cpu_policy": ["dedicated", "shared", "mixed"],
    "hw:cpu_thread_policy": ["prefer", "isolate"],
    "hw:emulator_threads_policy": ["isolate", "share"],
    "hw:cpu_dedicated_mask": ["0", "0-1", "^0", "0-3", "0,^0", "2,9"],
    "hw:cpu_realtime": ["yes", "no"],
    "hw:cpu_realtime_mask": ["^0", "0-3", "1", "1,9", "^0-3"],
    "resources:VCPU": ["0", "4"],
    "resources:PCPU": ["0", "4", "5"],
    "resources1:PCPU": ["2", "4"],
    "trait:HW_CPU_HYPERTHREADING": ["required", "forbidden"],
}
NODE_KEYS = {
    "hw:numa_nodes": ["1", "2", "3"],
    "hw:mem_page_size": ["large", "2MB", "0"],
    "hw:locked_memory": ["yes", "no"],
    "hw:numa_cpus.0": ["0-1", "0-3", "0,9"],
    "hw:numa_cpus.1": ["2-3", "1-3", "3"],
    "hw:numa_mem.0": ["2048", "4096"],
    "hw:numa_mem.1": ["2048", "1"],
}
# What an image may add where a flavor is silent. Node lists are the flavor's own business here, so none has them.
IMAGES = [
    {key: value for key, value in zip(("hw_cpu_policy", "hw_cpu_realtime_mask"), values, strict=True) if value}
    for values in itertools.product(("", "dedicated", "mixed", "shared"), ("", "^0"))
]


def a_flavor(keys: dict[str, list[str]]) -> st.SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries({}, optional={key: st.sampled_from(values) for key, values in keys.items()})


def boots(specs: dict[str, str], properties: dict[str, str]) -> bool:
    flavor = FlavorSnapshot(id="f", name="f", vcpus=4, memory_mib=4096, extra_specs=specs)
    try:
        guest_topology(flavor, ImageSnapshot(properties=properties))
    except Invalid:
        return False
    return True


def is_refused(specs: dict[str, str], rules) -> bool:
    assert extra_spec_problems(specs) == {}
    return any(True for rule in rules for _ in rule(FlavorFacts(specs, 4, 4096)))


def own_mask_is_wrong(specs: dict[str, str]) -> bool:
    """An image may replace a realtime mask; the flavor's own must be right all the same."""
    about_it = ("hw:cpu_realtime", "hw:cpu_realtime_mask", "hw:emulator_threads_policy")
    alone = {key: specs[key] for key in about_it if key in specs}
    return "hw:cpu_realtime_mask" in specs and not boots(alone | {"hw:cpu_policy": "dedicated"}, {})


@settings(max_examples=600, deadline=None)
@given(a_flavor(CPU_KEYS))
def test_cpus_are_refused_at_save_exactly_when_no_image_boots(specs):
    never_boots = not any(boots(specs, properties) for properties in IMAGES)
    assert is_refused(specs, CPU_CONTRADICTIONS) == (never_boots or own_mask_is_wrong(specs))


@settings(max_examples=600, deadline=None)
@given(a_flavor(NODE_KEYS))
def test_nodes_are_refused_at_save_exactly_when_they_do_not_boot(specs):
    # Lists count once there is a topology; saved lists are held to be meant, whether the flavor asks for one or not,
    # and so are those behind a gap, which the boot overlooks.
    has_gap = any(f"{stem}.1" in specs and f"{stem}.0" not in specs for stem in ("hw:numa_cpus", "hw:numa_mem"))
    lists = {key.rpartition(".")[2] for key in specs if "." in key}
    asked = {"hw:numa_nodes": str(1 + max(int(node) for node in lists))} | specs if lists else specs
    assert is_refused(specs, NUMA_CONTRADICTIONS) == (has_gap or not boots(asked, {}))
