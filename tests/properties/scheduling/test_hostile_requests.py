"""Requests that nobody means well: a refusal by name, or an answer, and nothing else."""

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controlplane.kernel.errors import Invalid
from scheduling.domain.request.schedule_request import request_from_dict, request_to_dict
from scheduling.filters.json_query import JsonFilter
from scheduling.request_filters import filter_request, surroundings_of
from servers.instances.domain.hint_rules import text_hints
from tests.units.scheduling.worlds import host, policy, refused, request, run, table

FLEET = table(host("a"), host("b", host_ip="10.0.0.1"))
RULES = policy(
    "ComputeFilter", "ComputeCapabilitiesFilter", "AggregateInstanceExtraSpecsFilter", "ImagePropertiesFilter",
    "NUMATopologyFilter", "PciPassthroughFilter", "TrustedFilter", "JsonFilter", "SimpleCIDRAffinityFilter",
)  # fmt: skip

words = st.sampled_from([
    "=", "==", ">=", "<in>", "<or>", "<all-in>", "s==", "nan", "inf", "-1", "1e400", "0-9", "^1", "large", "dedicated",
    "required", "true", "", "\x00", "\x1b[2J", "日本", "9" * 30,
])  # fmt: skip
texts = st.lists(words | st.text(max_size=5), max_size=4).map(" ".join)
keys = st.sampled_from([
    "hw:cpu_policy", "hw:cpu_thread_policy", "hw:numa_nodes", "hw:numa_cpus.0", "hw:numa_mem.0", "hw:mem_page_size",
    "hw:cpu_dedicated_mask", "hw:cpu_realtime_mask", "hw:tpm_version", "hw:tpm_model", "hw:mem_encryption", "hw:pmem",
    "hw:sound_model", "hw:emulator_threads_policy", "hw:pci_numa_affinity_policy", "hw:cpu_sockets", "os:secure_boot",
    "resources:VCPU", "resources1:VGPU", "trait:HW_X", "trait1:HW_X", "group_policy", "free_ram_mb", "ssd",
    "capabilities:cpu_info:features", "capabilities:free_ram_mb", "trust:trusted_host", "accel:device_profile",
]) | st.text(max_size=8)  # fmt: skip
properties = st.sampled_from([
    "hw_architecture", "img_hv_type", "hw_vm_mode", "img_hv_requested_version", "hw_maxphysaddr_bits", "hw_numa_nodes",
    "hw_cpu_policy", "hw_mem_page_size", "trait:HW_X", "hw_tpm_version", "hw_firmware_stateless",
])  # fmt: skip
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | texts
queries = st.recursive(
    plain | st.sampled_from(["$host", "$free_ram_mb", "$cpu_info.arch", "$__class__", "$"]),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda one: ["and", *one]) | st.dictionaries(texts, inner, max_size=2)
    ),
    max_leaves=12,
)


@given(st.dictionaries(keys, texts, max_size=4), st.dictionaries(properties, plain, max_size=3))
def test_hostile_flavor_or_image_is_placed_refused_or_named_invalid(
    specs: dict[str, str], properties: dict[str, Any]
) -> None:
    asked = request(specs=specs, properties=properties)
    try:
        trace = run(FLEET, asked, RULES)
    except Invalid:
        return
    assert trace.verdict


@given(st.dictionaries(keys, texts, max_size=4), st.dictionaries(properties, plain, max_size=3))
def test_request_filters_take_any_flavor_and_image(specs: dict[str, str], properties: dict[str, Any]) -> None:
    asked = request(specs=specs, properties=properties)
    with suppress(Invalid):
        filter_request(asked, surroundings_of(FLEET, RULES))


@given(queries)
def test_any_query_of_a_hint_is_read_or_refused_and_never_raises(query: Any) -> None:
    found, problems = text_hints({"query": query})
    assert len(found) + len(problems) == 1
    if found:
        refused(JsonFilter(), FLEET, request(hints={"query": (found["query"],)}))


@given(st.text(max_size=30) | st.lists(words, max_size=6).map("".join))
def test_any_text_as_query_fits_nobody_or_is_evaluated(text: str) -> None:
    assert set(refused(JsonFilter(), FLEET, request(hints={"query": (text,)}))) <= {"a", "b"}


@given(st.integers(1, 3000), st.sampled_from(['["not", ', '["or", ', "[", '{"a": ']))
def test_query_of_any_depth_is_answered(depth: int, opening: str) -> None:
    closing = "}" if "{" in opening else "]"
    text = opening * depth + "1" + closing * depth
    assert set(refused(JsonFilter(), FLEET, request(hints={"query": (text,)}))) <= {"a", "b"}


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_address_to_be_near_to_is_answered(address: str, prefix: str) -> None:
    hints = {"build_near_host_ip": (address,), "cidr": (prefix,)}
    assert run(FLEET, request(hints=hints), RULES).verdict


@given(st.dictionaries(keys, texts, max_size=3))
def test_hostile_request_comes_back_from_its_stored_form(specs: dict[str, str]) -> None:
    asked = request(specs=specs)
    assert request_from_dict(request_to_dict(asked)) == asked
