from typing import Any

import pytest

from scheduling.domain.policy import PolicyOptions
from scheduling.engine import HostTable
from scheduling.weighers.image_properties import ImagePropertiesWeigher
from tests.units.scheduling.worlds import aggregate, chosen, every, host, policy, request, run, spec_of, table

LINUX, WINDOWS, VIRTIO = ("os_type", "linux"), ("os_type", "windows"), ("hw_disk_bus", "virtio")
FLEET = table(
    host("a", image_properties={LINUX: 2, VIRTIO: 1}),
    host("b", image_properties={WINDOWS: 4, VIRTIO: 2}),
    host("c"),
)
ASKED = request(properties={"os_type": "linux", "hw_disk_bus": "virtio"})
WEIGHER = "ImagePropertiesWeigher"


def raw(fleet: HostTable, asked: Any = ASKED, multiplier: float | None = 1.0, **setting: float) -> list[float]:
    spec = spec_of(asked, PolicyOptions(image_props_weight_setting=setting))
    return ImagePropertiesWeigher().weigh(every(fleet), spec, multiplier)[0].tolist()


def test_each_occurrence_of_an_equal_property_counts_one() -> None:
    assert raw(FLEET) == [3, 2, 0]


def test_setting_gives_the_weights_and_others_count_nothing() -> None:
    assert raw(FLEET, os_type=0.5) == [1, 0, 0]


def test_image_without_properties_weighs_nothing() -> None:
    assert raw(FLEET, request()) == [0, 0, 0]


def test_values_are_compared_as_text() -> None:
    fleet = table(host("a", image_properties={("hw_cpu_cores", "2"): 3}))
    assert raw(fleet, request(properties={"hw_cpu_cores": 2})) == [3]


@pytest.mark.parametrize("multiplier", [None, 0.0])
def test_multiplier_zero_of_the_policy_is_off_whatever_aggregates_say(multiplier: float | None) -> None:
    fleet = table(
        host("a", image_properties={LINUX: 2}),
        host("b"),
        aggregates=(aggregate("x", "a", "b", image_props_weight_multiplier="5"),),
    )
    assert raw(fleet, multiplier=multiplier) == [0, 0]


def test_aggregate_overrides_a_multiplier_that_is_on() -> None:
    fleet = table(
        host("a", image_properties={LINUX: 2}),
        host("b"),
        aggregates=(aggregate("x", "a", "b", image_props_weight_multiplier="-5"),),
    )
    assert chosen(run(fleet, ASKED, policy(weighers={WEIGHER: 1.0}))) == ["b"]


@pytest.mark.parametrize(("multiplier", "expected"), [(1.0, ["a", "a"]), (-1.0, ["b", "c"])])
def test_positive_packs_like_images_and_negative_spreads_them(multiplier: float, expected: list[str]) -> None:
    asked = request(2, properties={"os_type": "linux"})
    assert chosen(run(FLEET, asked, policy(weighers={WEIGHER: multiplier}))) == expected


def test_instances_of_the_batch_count() -> None:
    asked = request(3, properties={"os_type": "linux"})
    fleet = table(host("a"), host("b"), host("c"))
    assert chosen(run(fleet, asked, policy(weighers={WEIGHER: -1.0}))) == ["a", "b", "c"]


def test_older_names_and_spellings_count_as_those_of_today() -> None:
    fleet = table(host("a", image_properties={("hw_architecture", "x86_64"): 1, ("hw_boot_menu", "True"): 1}))
    assert raw(fleet, request(properties={"architecture": "amd64", "hw_boot_menu": "yes"})) == [2]


def test_properties_that_nova_does_not_know_count_nothing() -> None:
    fleet = table(host("a", image_properties={("my_property", "a"): 3, LINUX: 1}))
    assert raw(fleet, request(properties={"my_property": "a", "os_type": "linux"})) == [1]
