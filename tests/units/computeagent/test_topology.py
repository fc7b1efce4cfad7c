"""CPU lists, and hosts and placed guests as JSON."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computeagent.protocol.topology import (
    CpuPolicy,
    EmulatorThreads,
    GuestTopology,
    HostTopology,
    InstanceNUMACell,
    NUMACell,
    NUMAPages,
)
from computeagent.protocol.topology_json import guest_from_dict, guest_to_dict, host_from_dict, host_to_dict
from controlplane.kernel.cpu_list import format_cpus, parse_cpus
from controlplane.kernel.errors import Invalid

HOST = HostTopology(
    (
        NUMACell(
            id=0,
            cpuset=frozenset({0, 1}),
            pcpuset=frozenset({2, 3}),
            memory_mib=2048,
            socket=0,
            siblings=(frozenset({0, 1}), frozenset({2, 3})),
            mempages=(NUMAPages(4, 1000), NUMAPages(2048, 500, reserved=20)),
        ),
    )
)
PLACED = GuestTopology(
    (
        InstanceNUMACell(
            id=0,
            cpuset=frozenset({0}),
            pcpuset=frozenset({1}),
            memory_mib=1024,
            page_size=2048,
            cpu_policy=CpuPolicy.MIXED,
            host_cell=1,
            pinning=((1, 7),),
            reserved=frozenset({6}),
        ),
    ),
    EmulatorThreads.ISOLATE,
)


@pytest.mark.parametrize(("text", "cpus"), [("", set()), ("0-3,^2,8", {0, 1, 3, 8}), (" 4 , 2 ", {2, 4})])
def test_cpu_list_gives_its_cpus(text: str, cpus: set[int]) -> None:
    assert parse_cpus(text) == cpus


@pytest.mark.parametrize("text", ["a", "3-1", "1-", "-1", "0-99999999", "1;2", "²"])
def test_text_that_is_no_cpu_list_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="no CPU number"):
        parse_cpus(text)


@given(st.frozensets(st.integers(0, 200)))
def test_cpu_list_written_is_cpu_list_read(cpus: frozenset[int]) -> None:
    assert parse_cpus(format_cpus(cpus)) == cpus


def test_host_cells_are_written_as_rows_have_them() -> None:
    assert host_to_dict(HOST) == {
        "cells": [
            {
                "id": 0,
                "cpuset": "0-1",
                "pcpuset": "2-3",
                "memory_mib": 2048,
                "socket": 0,
                "siblings": ["0-1", "2-3"],
                "mempages": [[4, 1000, 0, 0], [2048, 500, 0, 20]],
            }
        ]
    }


def test_host_cells_written_are_host_cells_read() -> None:
    assert host_from_dict(host_to_dict(HOST)) == HOST


def test_guest_that_the_scheduler_placed_is_read() -> None:
    placed = guest_from_dict(guest_to_dict(PLACED))

    placed.require_place()
    (cell,) = placed
    assert (cell.host_cell, cell.pinning, cell.reserved, cell.page_size) == (1, ((1, 7),), {6}, 2048)
    assert (cell.vcpus, cell.cpuset, placed.emulator_threads) == ({0, 1}, {0}, "isolate")


@pytest.mark.parametrize(
    "change",
    [{"host_cell": None}, {"pinning": []}, {"page_size": -2}, {"pcpuset": "x"}, {"memory_mib": None}],
)
def test_guest_without_a_whole_place_is_refused(change: dict[str, object]) -> None:
    form = guest_to_dict(PLACED)
    form["cells"][0].update(change)

    with pytest.raises(Invalid):
        guest_from_dict(form).require_place()


@pytest.mark.parametrize("form", [{}, {"cells": 3}, {"cells": [3]}])
def test_form_that_is_no_topology_is_refused(form: dict[str, object]) -> None:
    with pytest.raises(Invalid, match="no topology"):
        guest_from_dict(form)


@pytest.mark.parametrize("form", [{"nodes": []}, {"cells": 3}, {"cells": [3]}])
def test_form_that_is_no_host_is_refused(form: dict[str, object]) -> None:
    with pytest.raises(Invalid, match="not of the expected form"):
        host_from_dict(form)
