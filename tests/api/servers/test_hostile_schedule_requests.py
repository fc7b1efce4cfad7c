"""Hostile requests to the scheduler: a clear 400, or an answer; never a 500, and never long."""

import json
import time
from typing import Any

import pytest

from scheduling.fleet.services.hosts import host_register
from scheduling.policies.services.policies import policy_create
from tests.fixtures.remembering import remembered
from tests.services.scheduling.fleet.fleet_world import report
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db
LONGEST_S = 3.0
DEEP = 100_000


@pytest.fixture
@remembered
def who() -> world.People:
    found = world.people()
    world.flavor()
    world.image()
    host_register(host="cmp-1", report=report("cmp-1"))
    return found


def said(who: world.People, body: str) -> int:
    """The status of the answer to this text, which comes soon and, when it is a refusal, in our own words."""
    started = time.process_time()
    client = world.client_of(who.admin)
    client.raise_request_exception = False
    answer = client.post("/api/schedule/simulate/", body, content_type="application/json")
    assert time.process_time() - started < LONGEST_S
    if answer.status_code != 200:
        assert answer.json()["error"]["message"]
    return int(answer.status_code)


def simulated(who: world.People, **changes: Any) -> int:
    return said(who, json.dumps({"flavor": "m1.tiny", "image": "demo", **changes}))


def nested(depth: int, inner: str = "1") -> str:
    return '["not", ' * depth + inner + "]" * depth


@pytest.mark.parametrize(
    "body",
    [
        "[" * DEEP,
        "[" * DEEP + "]" * DEEP,
        '{"a":' * DEEP + "1" + "}" * DEEP,
        '{"flavor": "m1.tiny", "hints": {"query": ' + nested(DEEP) + "}}",
        '{"flavor": "m1.tiny", "count": NaN}',
        '{"flavor": "m1.tiny", "count": 1e400}',
        '{"flavor": "m1.tiny", "count": ' + "9" * 5000 + "}",
        '{"flavor": {"vcpus": 1e400, "memory_mib": 1, "root_gib": 1}}',
        '{"flavor": {"vcpus": ' + "9" * 400 + ', "memory_mib": 1, "root_gib": 1}}',
        '{"flavor": "m1.tiny", "edits": {"allocation_ratios": [{"resource_class": "VCPU", "ratio": NaN}]}}',
        '{"flavor": "m1.tiny", "edits": {"allocation_ratios": [{"resource_class": "VCPU", "ratio": Infinity}]}}',
        '{"flavor": "m1.tiny", "edits": {"allocation_ratios": [{"resource_class": "VCPU", "ratio": 1e308}]}}',
        '{"flavor": "m1.tiny", "hints": [1, 2]}',
        '{"flavor": "m1.tiny", "hints": {"same_host": {"a": 1}}}',
        '{"flavor": "\\ud800"}',
        '{"flavor": "m1.tiny", "availability_zone": "\\u0000"}',
        '{"flavor": "m1.tiny", "hints": {"group": "\\u0000"}}',
        "\x00",
        '"',
    ],
    ids=lambda body: body[:60] + f"({len(body)})",
)
def test_body_that_makes_no_sense_is_refused(who: world.People, body: str) -> None:
    assert said(who, body) in (400, 413)


@pytest.mark.parametrize(
    "changes",
    [
        {"hints": {"different_host": ["11111111-0000-4000-8000-000000000001"] * 100_000}},
        {"hints": {f"hint {at}": "x" for at in range(5_000)}},
        {"hints": {"query": ["=", "$host", "x" * 100_000]}},
        {"hints": {"build_near_host_ip": "1" * 100_000}},
        {"hints": {"build_near_host_ip": "10.0.0.1", "cidr": "/" + "9" * 5_000}},
        {"availability_zone": "z" * 100_000},
        {"availability_zone": "a:b:c:d:" * 1_000},
        {"flavor": "f" * 100_000},
    ],
    ids=lambda changes: str(changes)[:50],
)
def test_huge_value_is_refused(who: world.People, changes: dict[str, Any]) -> None:
    assert simulated(who, **changes) in (400, 413)


QUERIES = [
    ["=", "$free_ram_mb", float("nan")],
    ["=", "$free_ram_mb", 10**300],
    [">", "$free_ram_mb", "text"],
    ["=", "$__class__.__mro__", 1],
    ["=", "$" + "a." * 500, 1],
    ["=", "$\u202ehost", "日本"],
    ["or"] + [["=", "$host", str(at)] for at in range(150)],
    ["not", ["not", ["in", "$host", "x"]]],
    ["nonsense", 1, 2],
    [{"a": 1}],
    [None, None],
    [],
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: str(query)[:40])
def test_odd_query_is_answered(who: world.People, query: Any) -> None:
    policy_create(body={"filters": ["JsonFilter"]}, activate=True)
    assert simulated(who, hints={"query": query}) in (200, 400)


@pytest.mark.parametrize("depth", [50, 150, 330, 400])
def test_deep_query_is_answered(who: world.People, depth: int) -> None:
    policy_create(body={"filters": ["JsonFilter"]}, activate=True)
    assert simulated(who, hints={"query": nested(depth, '["=", "$host", "cmp-1"]')}) in (200, 400)


SPECS = [
    {"\x00": "1"},
    {"hw:cpu_policy": "dedicated\x1b[31m"},
    {"hw:cpu_policy": "dedicated", "hw:cpu_dedicated_mask": "0-999999999"},
    {"hw:numa_nodes": "9" * 500},
    {"hw:numa_nodes": "2", "hw:numa_cpus.0": "0-99999999999", "hw:numa_mem.0": "1"},
    {"hw:mem_page_size": "9" * 500 + "GB"},
    {"hw:cpu_realtime": "yes", "hw:cpu_realtime_mask": "^" + "0," * 5_000 + "1"},
    {"resources:VCPU": "9" * 500},
    {"resources:" + "A" * 5_000: "1"},
    {"trait:" + "A" * 5_000: "required"},
    {"resources" + "b" * 64 + ":VCPU": "1"},
    {"pci_passthrough:alias": "gpu:" + "9" * 500},
    {"capabilities:cpu_info:" + ":".join("a" * 500): "s== x"},
    {"capabilities:free_ram_mb": ">= nan"},
    {"capabilities:free_ram_mb": "<or> " * 2_000},
    {"capabilities:host": "<in> " + "a" * 50_000},
    {"trust:trusted_host": "\ud7ff" * 1_000},
    {"hw:cpu_sockets": "65536", "hw:cpu_cores": "65536", "hw:cpu_threads": "65536"},
    {"hw:pmem": "," * 5_000},
]


@pytest.mark.parametrize("specs", SPECS, ids=lambda specs: str(specs)[:50])
def test_hostile_extra_spec_is_answered(who: world.People, specs: dict[str, str]) -> None:
    filters = ["ComputeFilter", "ComputeCapabilitiesFilter", "AggregateInstanceExtraSpecsFilter", "TrustedFilter"]
    policy_create(body={"filters": [*filters, "NUMATopologyFilter", "PciPassthroughFilter"]}, activate=True)
    inline = {"vcpus": 2, "memory_mib": 512, "root_gib": 1, "extra_specs": specs}
    assert simulated(who, flavor=inline) in (200, 400)


@pytest.mark.parametrize(
    "properties",
    [
        {"img_hv_requested_version": ">=" + "9" * 5_000},
        {"img_hv_requested_version": ">=1." * 3_000},
        {"img_hv_requested_version": "a" * 50_000 + "!"},
        {"hw_architecture": "\u0000"},
        {"hw_maxphysaddr_bits": "9" * 500},
        {"hw_maxphysaddr_bits": {"a": [1]}},
        {"traits": None, "hw_vm_mode": ["x"]},
    ],
    ids=lambda properties: str(properties)[:50],
)
def test_hostile_image_property_is_answered(who: world.People, properties: dict[str, Any]) -> None:
    policy_create(body={"filters": ["ImagePropertiesFilter"]}, activate=True)
    assert simulated(who, image={"properties": properties}) in (200, 400)
