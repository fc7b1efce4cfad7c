"""A batch that does not fit whole: nothing of it, or as much as fits down to min_count."""

import pytest

from controlplane.kernel.errors import InvalidFields
from placement.selectors import allocations_by_consumer
from servers.models import BuildRequest, Instance, InstanceFault, InstanceMapping
from servers.repair.services.audit import audit_findings
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def test_best_effort_places_what_fits_and_says_so_of_the_rest() -> None:
    who = world.cloud("h1", vcpus=1, memory_mib=2048)  # 1536 MiB after the reserve: three of 512
    world.create(who.member, min_count=2, max_count=5, batch="best_effort")
    world.pump()
    assert world.finish_builds() == 3
    assert Instance.objects.filter(vm_state="active").count() == 3
    left = Instance.objects.filter(vm_state="error")
    assert [(one.host, one.task_state) for one in left] == [("", ""), ("", "")]
    assert {one.decision_id for one in left} == set(Instance.objects.values_list("decision_id", flat=True))
    for one in left:
        fault = InstanceFault.objects.get(instance_uuid=one.pk)
        assert "3 of the 5 of its batch were placed" in fault.message
        assert InstanceMapping.objects.get(instance_uuid=one.pk).cell_id.int == 0  # type: ignore[union-attr]
    assert len(allocations_by_consumer()) == 3
    assert BuildRequest.objects.count() == 0
    assert audit_findings() == []


def test_best_effort_below_its_least_count_places_nothing() -> None:
    who = world.cloud("h1", vcpus=1, memory_mib=2048)
    world.create(who.member, min_count=4, max_count=5, batch="best_effort")
    world.pump()
    assert set(Instance.objects.values_list("vm_state", flat=True)) == {"error"}
    assert allocations_by_consumer() == {}


def test_all_or_nothing_is_the_rule_also_with_a_smaller_least_count() -> None:
    who = world.cloud("h1", vcpus=1, memory_mib=2048)
    world.create(who.member, min_count=2, max_count=5)
    world.pump()
    assert set(Instance.objects.values_list("vm_state", flat=True)) == {"error"}
    assert allocations_by_consumer() == {}


def test_member_of_a_best_effort_batch_is_scheduled_again_by_itself() -> None:
    who = world.cloud("h1", "h2", vcpus=2, memory_mib=2048)
    made = world.create(who.member, min_count=2, max_count=2, batch="best_effort")
    world.pump()
    first = world.instance_of(made[0].pk).host
    world.fail_build(first)
    world.pump()
    assert world.instance_of(made[0].pk).host not in {"", first}


def test_unknown_mode_is_refused_by_name() -> None:
    who = world.cloud("h1")
    with pytest.raises(InvalidFields) as caught:
        world.create(who.member, batch="maximum")
    assert list(caught.value.errors) == ["batch"]
