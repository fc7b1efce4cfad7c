import json
from typing import Any

import pytest

from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.explanation import HostResult
from scheduling.engine import (
    DEFAULT_POLICY,
    Destination,
    HostTable,
    InventoryRow,
    ScheduleRequest,
    request_from_dict,
    request_to_dict,
    schedule,
    trace_from_dict,
    trace_to_dict,
    why_not,
)
from tests.units.scheduling.worlds import aggregate, flavor, group, host, policy, request, run, table

FLEET = table(
    host("cmp-01"),
    host("cmp-02", vcpu=InventoryRow(16, used=12)),
    host("cmp-03", enabled=False, status_detail="operator: disks"),
    host("cmp-04", ram=InventoryRow(16384, used=15000, allocation_ratio=1.5)),
    host("cmp-05", up=False),
    host("lone", cell_uuid="cell2", num_io_ops=3),
    aggregates=(aggregate("x", "cmp-01", "cmp-02", ram_weight_multiplier="1.7"), aggregate("z", "lone", ssd="yes")),
)

REQUESTS = {
    "one": request(num_alternates=2),
    "batch": request(4, num_alternates=2, group=group("soft-anti-affinity")),
    "too big": request(flavor=flavor(vcpus=20, memory_mib=100000)),
    "part": request(30, min_count=1),
    "refused": request(specs={"ssd": "no"}),
}


def stored(fleet: HostTable, asked: ScheduleRequest, **changes: Any) -> dict[str, Any]:
    rules = policy(*DEFAULT_POLICY.filters, weighers={s.name: None for s in DEFAULT_POLICY.weighers}, **changes)
    return trace_to_dict(run(fleet, asked, rules))


@pytest.mark.parametrize("name", list(REQUESTS))
@pytest.mark.parametrize("changes", [{}, {"host_subset_size": 3, "shuffle_best_same_weighed_hosts": True}])
def test_trace_survives_json(name: str, changes: dict[str, Any]) -> None:
    data = stored(FLEET, REQUESTS[name], **changes)
    assert trace_to_dict(trace_from_dict(json.loads(json.dumps(data)))) == data


def test_scores_and_refusals_survive_json_to_the_bit() -> None:
    trace = schedule(ScheduleCall(FLEET, REQUESTS["batch"], DEFAULT_POLICY, 3))
    again = trace_from_dict(json.loads(json.dumps(trace_to_dict(trace))))
    for before, after in zip(trace.rounds, again.rounds, strict=True):
        assert before.ranking is not None
        assert after.ranking is not None
        assert before.ranking.scores.tolist() == after.ranking.scores.tolist()
        assert before.ranking.ranked_rows().tolist() == after.ranking.ranked_rows().tolist()
    assert sorted(trace.refusals()) == sorted(again.refusals())


def test_later_rounds_of_a_batch_are_written_as_what_changed() -> None:
    rounds = stored(table(*(host(f"cmp-{at}", num_io_ops=at) for at in range(20))), request(3))["rounds"]
    raws = {one["name"]: one["raw"] for one in rounds[1]["ranking"]["weighers"]}
    assert raws["IoOpsWeigher"].keys() == {"changed", "to"}
    assert len(raws["IoOpsWeigher"]["changed"]) == 1


def test_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown trace format"):
        trace_from_dict({"format": 99})


def test_five_thousand_alike_names_are_short() -> None:
    fleet = table(*(host(f"cmp-{at:04d}") for at in range(5000)))
    assert len(json.dumps(trace_to_dict(run(fleet, request())))) < 2000


def test_failure_counts_reasons_and_names_the_nearest() -> None:
    trace = schedule(ScheduleCall(FLEET, request(flavor=flavor(vcpus=20)), DEFAULT_POLICY, 1))
    assert trace.verdict == "No host fits: 5 lack vCPUs, 1 is disabled; closest is cmp-01, 4 vCPU short"
    assert trace.verdict_redacted == "No host fits: 5 lack vCPUs, 1 is disabled; the closest is 4 vCPU short"


def test_nearest_names_all_it_lacks() -> None:
    trace = schedule(ScheduleCall(FLEET, request(flavor=flavor(vcpus=18, memory_mib=40000)), DEFAULT_POLICY, 1))
    assert trace.verdict.endswith("closest is cmp-01, 2 vCPU and 7,232 MiB of memory short")


def test_nearest_is_never_a_host_that_is_down() -> None:
    fleet = table(host("down", up=False), host("up", vcpu=InventoryRow(1)))
    assert run(fleet, request(flavor=flavor(vcpus=17))).verdict.endswith("closest is up, 16 vCPU short")


def test_failure_without_lack_of_room_has_no_nearest() -> None:
    assert schedule(ScheduleCall(FLEET, request(ignore_hosts=FLEET.hosts), DEFAULT_POLICY, 1)).nearest is None


def test_success_names_the_host_and_the_redacted_form_does_not() -> None:
    trace = run(FLEET, request())
    assert trace.verdict == "1 of 6 hosts chosen: cmp-01 (score 1.70)"
    assert trace.verdict_redacted == "1 of 6 hosts chosen"


def test_success_of_a_batch_counts_by_host() -> None:
    trace = run(table(host("a"), host("b")), request(3))
    assert trace.verdict == "2 of 2 hosts chosen for 3 instances: a x2, b"


@pytest.mark.parametrize("name", ["failure", "success"])
def test_redacted_verdict_names_no_host(name: str) -> None:
    asked = request(flavor=flavor(vcpus=20)) if name == "failure" else request(3)
    redacted = schedule(ScheduleCall(FLEET, asked, DEFAULT_POLICY, 1)).verdict_redacted
    assert not any(host_name in redacted for host_name in FLEET.hosts)


@pytest.mark.parametrize(
    ("name", "result", "text"),
    [
        ("cmp-01", HostResult.SELECTED, "cmp-01 was chosen for 1 of 1"),
        ("CMP-03.lab", HostResult.REFUSED, "disabled (operator: disks)"),
        ("cmp-02", HostResult.ALTERNATE, "came 2 of 4; cmp-01 won: 0.75 points ahead by CPUWeigher"),
        ("lone", HostResult.RANKED, "cmp-01 won"),
        ("cmp-99", HostResult.UNKNOWN, "not among the 6 hosts"),
    ],
)
def test_why_not_answers_for_one_host(name: str, result: HostResult, text: str) -> None:
    trace = schedule(ScheduleCall(FLEET, request(num_alternates=2), DEFAULT_POLICY, 1))
    explanation = why_not(trace, name)
    assert explanation.result is result
    assert text in explanation.sentence


def test_why_not_works_on_a_stored_trace() -> None:
    trace = trace_from_dict(stored(FLEET, request()))
    assert why_not(trace, "cmp-04").sentence.startswith("cmp-04 ")


def test_request_survives_json() -> None:
    asked = request(
        2,
        group=group("affinity", hosts=("a",), members=("m",), max_server_per_host=2),
        requested_destination=Destination("a", None),
        hints={"same_host": ("i1",), "different_host": ("i2",)},
        member_of=(frozenset({"b", "a"}),),
        required_traits=frozenset({"HW_A"}),
        specs={"k": "v"},
        properties={"hw_architecture": "x86_64"},
        min_count=1,
    )
    assert request_from_dict(json.loads(json.dumps(request_to_dict(asked)))) == asked
