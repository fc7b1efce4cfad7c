from typing import Any

import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.engine import Destination, InventoryRow
from tests.units.scheduling.worlds import chosen, host, policy, request, run, table, trace_reasons

FLEET = table(host("a"), host("b"), host("c"))


@pytest.mark.parametrize(
    ("changes", "refused", "reason"),
    [
        ({"ignore_hosts": ("A",)}, {"a"}, RefusalReason.IGNORED),
        ({"force_hosts": ("B",)}, {"a", "c"}, RefusalReason.NOT_FORCED),
        ({"force_nodes": ("c.lab",)}, {"a", "b"}, RefusalReason.NOT_FORCED),
        ({"requested_destination": Destination(host="b")}, {"a", "c"}, RefusalReason.NOT_REQUESTED_HOST),
        ({"requested_destination": Destination(node="b.lab")}, {"a", "c"}, RefusalReason.NOT_REQUESTED_HOST),
        ({"requested_destination": Destination("b", "c.lab")}, {"a", "b", "c"}, RefusalReason.NOT_REQUESTED_HOST),
        ({"requested_destination": Destination(host="B")}, {"a", "b", "c"}, RefusalReason.NOT_REQUESTED_HOST),
    ],
)
def test_named_hosts_narrow_the_fleet(changes: dict[str, Any], refused: set[str], reason: RefusalReason) -> None:
    assert trace_reasons(run(FLEET, request(**changes))) == dict.fromkeys(refused, reason)


def test_forced_host_skips_filters() -> None:
    fleet = table(host("a", up=False), host("b"))
    trace = run(fleet, request(force_hosts=("a",)), policy("ComputeFilter"))
    assert chosen(trace) == ["a"]
    assert "ComputeFilter" not in [stage.name for stage in trace.rounds[0].stages]


def test_forced_host_still_needs_room() -> None:
    fleet = table(host("a", vcpu=InventoryRow(1)), host("b"))
    assert trace_reasons(run(fleet, request(force_hosts=("a",))))["a"] is RefusalReason.VCPU_SHORT


def test_requested_destination_is_still_filtered() -> None:
    fleet = table(host("a", up=False), host("b"))
    trace = run(fleet, request(requested_destination=Destination(host="a")), policy("ComputeFilter"))
    assert trace_reasons(trace)["a"] is RefusalReason.DOWN


def test_rebuild_asks_only_the_filters_meant_for_it_and_no_room() -> None:
    full = host("a", vcpu=InventoryRow(1), up=False, enabled=False)
    asked = request(
        hints={"_nova_check_type": ("rebuild",)}, force_hosts=("a",), properties={"hw_architecture": "aarch64"}
    )
    trace = run(table(full), asked, policy("ComputeFilter", "ImagePropertiesFilter"))
    assert trace_reasons(trace) == {"a": RefusalReason.IMAGE_PROPERTY_UNSUPPORTED}


def test_cell_that_may_not_be_left_refuses_hosts_of_others() -> None:
    fleet = table(host("a", cell_uuid="c1"), host("b", cell_uuid="c2"))
    refusal = run(fleet, request(requested_destination=Destination(cell="c1"))).refusal_of(1)
    assert refusal is not None
    assert refusal.sentence() == "the request asks for cell c1"


def test_cell_that_may_be_left_refuses_nobody() -> None:
    fleet = table(host("a", cell_uuid="c1"), host("b", cell_uuid="c2"))
    asked = request(requested_destination=Destination(cell="c1", allow_cross_cell_move=True))
    assert trace_reasons(run(fleet, asked)) == {}
