"""Section 6.7: the sockets, cores and threads a guest sees."""

from typing import Any

import pytest

from controlplane.kernel.errors import Invalid
from scheduling.topology.domain.numa.cpu_topology import best_cpu_topology
from tests.units.scheduling.topology.numa.topologies import hw_request


def best(*, allow_threads: bool = True, **changes: Any) -> tuple[int, int, int]:
    asked = hw_request(**{"vcpus": 8, **changes})
    return best_cpu_topology(asked.flavor, asked.image, allow_threads=allow_threads).parts


def fails(field: str, **changes: Any) -> None:
    with pytest.raises(Invalid) as caught:
        best(**changes)
    assert caught.value.field == field


def test_without_constraints_every_vcpu_is_a_socket() -> None:
    assert best() == (8, 1, 1)


def test_fewest_threads_come_first_then_most_sockets() -> None:
    assert best(cpu_max_sockets="2") == (2, 4, 1)
    assert best(cpu_max_sockets="2", cpu_max_cores="2") == (2, 2, 2)


def test_flavor_preference_is_matched_by_as_many_parts_as_can_be() -> None:
    assert best(cpu_sockets="2", cpu_cores="2", cpu_threads="2") == (2, 2, 2)
    assert best(cpu_cores="4") == (2, 4, 1)
    assert best(cpu_sockets="3", cpu_threads="4") == (2, 1, 4)


def test_image_that_names_one_part_gives_all_preferences() -> None:
    assert best(cpu_threads="2", properties={"hw_cpu_cores": "8"}) == (1, 8, 1)


def test_flavor_preference_beyond_the_limit_is_dropped() -> None:
    assert best(cpu_cores="8", properties={"hw_cpu_max_cores": 2}) == (8, 1, 1)


def test_image_preference_beyond_the_limit_is_refused() -> None:
    fails("hw_cpu_cores", cpu_max_cores="2", properties={"hw_cpu_cores": 4})


def test_image_limit_above_the_flavors_is_refused() -> None:
    fails("hw_cpu_max_sockets", cpu_max_sockets="2", properties={"hw_cpu_max_sockets": "4"})


def test_image_limit_below_the_flavors_tightens_it() -> None:
    assert best(cpu_max_sockets="4", properties={"hw_cpu_max_sockets": "1"}) == (1, 8, 1)


def test_hypervisor_without_threads_gives_one() -> None:
    assert best(allow_threads=False, cpu_threads="2") == (8, 1, 1)


def test_limits_that_cannot_be_met_are_refused() -> None:
    fails("hw:cpu_max_sockets", cpu_max_sockets="1", cpu_max_cores="2", cpu_max_threads="2")


def test_preference_that_is_no_number_names_the_key() -> None:
    fails("hw:cpu_cores", cpu_cores="many")
