import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.filters.compute_capabilities import ComputeCapabilitiesFilter
from tests.units.scheduling.worlds import aggregate, host, reasons, refused, request, table

HOST = host(
    "a",
    cpu_info={"vendor": "AMD", "features": ["aes", "avx2"], "topology": {"sockets": 2}, "maxphysaddr": {"bits": 48}},
    stats={"rack": "r1", "text": '{"level": {"deep": 7}}', "availability_zone": "from-stats"},
    metrics={"cpu.percent": 12},
    hypervisor_type="QEMU",
    hypervisor_version=8002002,
)


@pytest.mark.parametrize(
    ("key", "wanted", "passes"),
    [
        ("capabilities:cpu_info:vendor", "AMD", True),
        ("capabilities:cpu_info:vendor", "<or> Intel <or> AMD", True),
        ("capabilities:cpu_info:vendor", "Intel", False),
        ("capabilities:cpu_info:features", "<in> avx2", True),
        ("capabilities:cpu_info:features", "<all-in> aes avx512", False),
        ("capabilities:cpu_info:topology:sockets", ">= 2", True),
        ("capabilities:cpu_info:topology:sockets", ">= 4", False),
        ("capabilities:cpu_info:nothing", "1", False),
        ("capabilities:hypervisor_type", "QEMU", True),
        ("capabilities:hypervisor_version", ">= 8000000", True),
        ("capabilities:hypervisor_version", "== 9", False),
        ("capabilities:vcpus_total", "= 8", True),
        ("capabilities:nodename", "s== a.lab", True),
        ("capabilities:rack", "r1", True),  # not an attribute: found in stats
        ("capabilities:availability_zone", "from-stats", True),  # None as an attribute: found in stats
        ("capabilities:text:level:deep", "7", True),  # JSON text is walked
        ("capabilities:rack:deeper", "1", False),  # text that is no JSON
        ("capabilities:unknown", "1", False),
        ("rack", "r1", True),
        ("rack", "r2", False),
        ("unknown", "1", True),  # un-namespaced and unknown to the host: ignored
        ("other:rack", "r2", True),  # another namespace: ignored
        ("hw:maxphysaddr_bits", "48", True),
        ("hw:maxphysaddr_bits", "52", False),
        ("capabilities:cpu_info:vendor", ">= 3", False),  # no number: does not fit
        ("enabled", "no", True),  # no attribute of Nova's host states: ignored without the namespace
        ("is_up", "no", True),
        ("traits", "x", True),
        ("availability_zone", "az1", False),  # but this host's stats have one
        ("availability_zone", "from-stats", True),
        ("capabilities:enabled", "True", True),  # with it, it is asked of the host
        ("capabilities:is_up", "no", False),
        ("capabilities:host_ip", "s<= x", False),  # a host without an address has none
    ],
)
def test_extra_spec_is_asked_of_the_host(key: str, wanted: str, passes: bool) -> None:
    found = refused(ComputeCapabilitiesFilter(), table(HOST), request(specs={key: wanted}))
    assert (not found) is passes


def test_zone_without_namespace_is_left_to_the_aggregates() -> None:
    fleet = table(host("a"), host("b"), aggregates=(aggregate("north", "b", availability_zone="north"),))
    assert refused(ComputeCapabilitiesFilter(), fleet, request(specs={"availability_zone": "south"})) == {}


def test_unknown_capability_is_told_from_a_wrong_one() -> None:
    specs = {"capabilities:cpu_info:vendor": "AMD"}
    fleet = table(host("a", cpu_info={}), host("b", cpu_info={"vendor": "Intel"}), HOST)
    assert reasons(ComputeCapabilitiesFilter(), table(*[host("x")]), request(specs=specs)) == {
        "x": RefusalReason.CAPABILITY_MISSING
    }
    assert refused(ComputeCapabilitiesFilter(), fleet, request(specs=specs))["b"].available == "Intel"


def test_no_extra_specs_passes() -> None:
    assert refused(ComputeCapabilitiesFilter(), table(HOST), request()) == {}


def test_first_key_that_fails_is_the_reason() -> None:
    specs = {"capabilities:rack": "r2", "capabilities:unknown": "1"}
    refusal = refused(ComputeCapabilitiesFilter(), table(HOST), request(specs=specs))["a"]
    assert (refusal.wanted, refusal.available) == ("rack r2", "r1")
