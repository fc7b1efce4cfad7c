from typing import Any

import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.policy import PolicyOptions
from scheduling.domain.request.image_property_names import EARLIER_NAMES, KNOWN
from scheduling.filters.aggregate_image_properties import AggregateImagePropertiesIsolation
from tests.units.scheduling.worlds import aggregate, host, policy, refused, request, run, table, trace_reasons

FLEET = table(
    host("windows"),
    host("linux"),
    host("plain"),
    aggregates=(
        aggregate("w", "windows", os_type="windows", hw_machine_type="q35", flavour="vanilla"),
        aggregate("l", "linux", os_type="linux, freebsd"),
    ),
)


@pytest.mark.parametrize(
    ("properties", "refused_hosts"),
    [
        ({}, set()),
        ({"os_type": "windows"}, {"linux"}),
        ({"os_type": "freebsd"}, {"windows"}),
        ({"os_type": "beos"}, {"windows", "linux"}),
        ({"os_type": ""}, set()),  # not set
        ({"hw_machine_type": "pc"}, {"windows"}),
        ({"flavour": "chocolate"}, set()),  # no known property
        ({"hw_disk_bus": "ide"}, set()),  # no aggregate speaks of it
    ],
)
def test_known_property_of_the_image_must_be_among_the_values(
    properties: dict[str, Any], refused_hosts: set[str]
) -> None:
    found = refused(AggregateImagePropertiesIsolation(), FLEET, request(properties=properties))
    assert set(found) == refused_hosts


@pytest.mark.parametrize(("value", "passes"), [("2", True), (2, True), (3, False)])
def test_numbers_are_compared_as_text(value: Any, passes: bool) -> None:
    fleet = table(host("a"), aggregates=(aggregate("x", "a", hw_cpu_sockets="1,2"),))
    found = refused(AggregateImagePropertiesIsolation(), fleet, request(properties={"hw_cpu_sockets": value}))
    assert (not found) is passes


def test_values_of_several_aggregates_add_up() -> None:
    sets = (aggregate("x", "a", os_type="linux"), aggregate("y", "a", os_type="windows"))
    fleet = table(host("a"), aggregates=sets)
    assert refused(AggregateImagePropertiesIsolation(), fleet, request(properties={"os_type": "windows"})) == {}


def test_older_name_of_a_property_counts_as_the_present_one() -> None:
    fleet = table(host("a"), aggregates=(aggregate("x", "a", hw_architecture="aarch64"),))
    found = refused(AggregateImagePropertiesIsolation(), fleet, request(properties={"architecture": "x86_64"}))
    assert found["a"].wanted == "hw_architecture x86_64"


def test_present_name_wins_over_the_older_one() -> None:
    fleet = table(host("a"), aggregates=(aggregate("x", "a", hw_vm_mode="hvm"),))
    properties = {"vm_mode": "xen", "hw_vm_mode": "hvm"}
    assert refused(AggregateImagePropertiesIsolation(), fleet, request(properties=properties)) == {}


@pytest.mark.parametrize("key", ["os_type", "kept.os_type"])
def test_with_a_namespace_no_host_is_refused(key: str) -> None:
    fleet = table(host("a"), aggregates=(aggregate("x", "a", **{key: "windows"}),))
    options = PolicyOptions(aggregate_image_properties_isolation_namespace="kept")
    asked = request(properties={"os_type": "linux", "kept.os_type": "linux"})
    assert refused(AggregateImagePropertiesIsolation(), fleet, asked, options) == {}


def test_refusal_names_the_property_and_the_values() -> None:
    refusal = refused(AggregateImagePropertiesIsolation(), FLEET, request(properties={"os_type": "windows"}))["linux"]
    assert refusal.sentence() == "the image has os_type windows, its aggregates are for os_type freebsd, linux"


def test_runs_on_rebuild() -> None:
    asked = request(properties={"os_type": "beos"}, hints={"_nova_check_type": ("rebuild",)})
    trace = run(FLEET, asked, policy("AggregateImagePropertiesIsolation"))
    assert set(trace_reasons(trace)) == {"windows", "linux"}
    assert trace_reasons(trace)["linux"] is RefusalReason.IMAGE_NOT_ALLOWED


def test_older_names_stand_for_known_ones() -> None:
    assert set(EARLIER_NAMES.values()) <= KNOWN
    assert not KNOWN.intersection(EARLIER_NAMES)


@pytest.mark.parametrize(
    ("key", "of_image", "of_aggregate", "passes"),
    [
        ("hw_architecture", "amd64", "x86_64", True),
        ("hw_architecture", "X86_64", "x86_64", True),
        ("hw_architecture", "i386", "i686", True),
        ("hw_architecture", "amd64", "amd64", False),
        ("img_hv_type", "xapi", "xen", True),
        ("hw_vm_mode", "pv", "xen", True),
        ("hw_vif_model", "VIRTIO", "virtio", True),
        ("os_type", "Windows", "windows", True),
        ("hw_boot_menu", "true", "True", True),
        ("hw_boot_menu", "yes", "True", True),
        ("hw_boot_menu", "true", "true", False),
        ("hw_boot_menu", "no", "True", True),  # not set, as Nova has it
        ("hw_video_ram", "016", "16", True),
        ("hw_machine_type", "Q35", "q35", False),
    ],
)
def test_values_count_as_nova_reads_them(key: str, of_image: str, of_aggregate: str, passes: bool) -> None:
    fleet = table(host("a"), aggregates=(aggregate("x", "a", **{key: of_aggregate}),))
    found = refused(AggregateImagePropertiesIsolation(), fleet, request(properties={key: of_image}))
    assert (not found) is passes
