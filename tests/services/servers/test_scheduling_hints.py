"""Hints that filters read as text go all the way from the request to the filter."""

import pytest

from controlplane.kernel.errors import InvalidFields
from scheduling.models import ComputeNode
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
    ("hint", "value"), [("query", "{"), ("cidr", "24"), ("build_near_host_ip", "here"), ("nonsense", "x")]
)
def test_hint_that_cannot_be_read_is_refused_by_its_name(hint: str, value: str) -> None:
    who = world.cloud("h1")
    with pytest.raises(InvalidFields) as refused:
        world.create(who.member, "vm", hints={hint: value})
    assert list(refused.value.errors) == [f"hints.{hint}"]
