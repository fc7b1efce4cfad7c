"""Hints that filters read as text go all the way from the request to the filter."""

import pytest

from controlplane.kernel.errors import InvalidFields
from scheduling.decisions.selectors.replay import ReplayState, replay_of
from scheduling.decisions.selectors.store import decision_record_of
from scheduling.domain.hosts.host_state import HostState
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters import BaseHostFilter
from scheduling.models import ComputeNode, SchedulingDecision
from scheduling.policies.services.policies import policy_create
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def test_query_of_the_request_chooses_the_host() -> None:
    who = world.cloud("h1", "h2")
    policy_create(body={"filters": ["ComputeFilter", "JsonFilter"]}, activate=True)
    hosts = {world.active(who.member, name, hints={"query": ["=", "$host", name]}).host for name in ("h1", "h2")}
    assert hosts == {"h1", "h2"}


def test_address_of_the_request_chooses_the_host() -> None:
    who = world.cloud("h1", "h2")
    policy_create(body={"filters": ["SimpleCIDRAffinityFilter"]}, activate=True)
    ComputeNode.objects.filter(host="h1").update(host_ip="10.0.1.1")
    ComputeNode.objects.filter(host="h2").update(host_ip="10.0.2.1")
    hints = {"build_near_host_ip": "10.0.2.200", "cidr": "/24"}
    assert world.active(who.member, "near", hints=hints).host == "h2"


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        ("query", "{"),
        ("cidr", "24"),
        ("build_near_host_ip", "here"),
        ("rack", {"a": 1}),
        ("rack", None),
        ("rack", []),
        ("rack", ["a"] * 101),
        ("rack", "a" * 1025),
        ("rack", ["a" * 1000] * 17),
        ("rack", "a\x00"),
        pytest.param("rack", 10**5000, id="a number too long to write"),
        ("r" * 256, "a"),
        ("ra\nck", "a"),
        ("_nova_check_type", "rebuild"),
    ],
)
def test_hint_that_cannot_be_read_is_refused_by_its_name(hint: str, value: str) -> None:
    who = world.cloud("h1")
    with pytest.raises(InvalidFields) as refused:
        world.create(who.member, "vm", hints={hint: value})
    assert list(refused.value.errors) == [f"hints.{hint:.80}"]


class InRack(BaseHostFilter):
    """Hosts whose names the request's own hint `rack` begins with; as Nova's filters read hints."""

    def host_passes(self, host_state: HostState, spec_obj: RequestSpecView) -> bool:
        racks = spec_obj.scheduler_hints["rack"]
        assert spec_obj.get_scheduler_hint("rack") == racks[0]
        assert spec_obj.get_scheduler_hint("floor", 7) == 7
        return host_state.host in racks


@pytest.mark.parametrize(
    ("value", "reported"),
    [("h2", ["h2"]), (["h2", "h9"], ["h2", "h9"]), (["h2", 3, 2.5, True], ["h2", "3", "2.5", "True"])],
)
def test_hint_that_nobody_here_knows_is_carried_to_plug_ins(value: object, reported: list[str]) -> None:
    who = world.cloud("h1", "h2", "h3")
    policy_create(body={"filters": [f"{__name__}.InRack"]}, activate=True)
    made = world.active(who.member, "vm", hints={"rack": value, "colour": "red"})
    assert made.host == "h2"
    decision = SchedulingDecision.objects.get()
    assert decision_record_of(decision=decision).request["hints"] == {"rack": reported, "colour": ["red"]}
    assert replay_of(decision=decision).state is ReplayState.SAME
