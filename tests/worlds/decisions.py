"""Decisions of the small cloud, as pages show them."""

from collections.abc import Callable
from typing import Any

from django.test import Client

from controlplane.identity.domain import Caller
from scheduling.models import SchedulingDecision
from servers.models import Instance
from tests.worlds.cloud import People, create, flavor, pump

AsPerson = Callable[[Caller], Client]
PART = {"HX-Request": "true", "HX-Target": "decision-lists"}
HTMX = {"HX-Request": "true"}


def unplaced(people: People, name: str = "no-room") -> SchedulingDecision:
    """A request that every host refuses."""
    flavor(f"huge-{name}", root_gib=5000)
    made = create(people.member, name, flavor=f"huge-{name}")[0]
    pump()
    return decision_of(made)


def decision_of(instance: Instance) -> SchedulingDecision:
    decision_id = Instance.objects.get(pk=instance.pk).decision_id
    assert decision_id is not None
    return SchedulingDecision.objects.get(pk=decision_id)


def address(decision: SchedulingDecision) -> str:
    return f"/decisions/{decision.pk}/"


def shown(client: Client, decision: SchedulingDecision, query: str = "") -> Any:
    return client.get(f"{address(decision)}{query}").context


def refused_names(context: Any) -> list[str]:
    return [one.host for group in context["refused_groups"] for one in group.shown]
