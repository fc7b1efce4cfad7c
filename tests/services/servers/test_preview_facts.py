"""A preview on the present fleet knows what instances do, and which flavors and images they have."""

from typing import Any

import pytest

from scheduling.models import SchedulingDecision
from scheduling.policies.selectors.preview import policy_preview
from scheduling.policies.services.policies import policy_create
from servers.models import Instance
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def verdict(body: dict[str, Any]) -> str:
    """What the last request would have met under this policy on the fleet of now."""
    SchedulingDecision.objects.update(snapshot="")
    (case,) = policy_preview(policy_id=policy_create(body=body).pk, last=1).cases
    assert case.basis == "present_fleet"
    return case.verdict


def test_builds_in_progress_are_io_load() -> None:
    who = world.cloud("h1")
    world.create(who.member)
    world.pump()
    body = {"filters": ["IoOpsFilter"], "options": {"max_io_ops_per_host": 1}}
    assert "too many heavy operations under way" in verdict(body)
    world.finish_builds()
    assert verdict(body).startswith("1 of 1 hosts")


def test_flavors_on_the_host_are_known_to_type_affinity() -> None:
    who = world.cloud("h1")
    world.flavor("m1.other")
    world.active(who.member, "first", flavor="m1.other")
    world.active(who.member, "second")
    assert "holds instances of other flavors" in verdict({"filters": ["TypeAffinityFilter"]})


def test_images_on_the_hosts_are_known_to_the_weigher() -> None:
    who = world.cloud("h1", "h2")
    world.image("debian", properties={"os_distro": "debian"})
    first = world.active(who.member, "first", image="debian")
    Instance.objects.create(**_copy(first, host="h2", image={"properties": {}}))
    world.active(who.member, "second", image="debian")
    SchedulingDecision.objects.update(snapshot="")
    body = {"filters": [], "weighers": {"ImagePropertiesWeigher": 1.0}}
    (case,) = policy_preview(policy_id=policy_create(body=body).pk, last=1).cases
    assert case.preview_hosts == (first.host,)


def _copy(one: Instance, **changes: Any) -> dict[str, Any]:
    values = {field.attname: getattr(one, field.attname) for field in one._meta.concrete_fields if field.name != "id"}
    return {**values, **changes}
