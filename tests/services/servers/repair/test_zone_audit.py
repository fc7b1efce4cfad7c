"""The audit names instances whose zone is not their host's, with the zones, and changes nothing."""

import pytest

from scheduling.fleet.services.aggregates import aggregate_create_whole
from scheduling.models import Aggregate
from servers.models import Instance, RequestSpec
from servers.repair.services.audit import Violation, audit_findings
from servers.repair.services.zone_audit import zone_faults
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def faults() -> list[Violation]:
    return [Violation(*fault) for fault in zone_faults(list(Instance.objects.filter(deleted_at__isnull=True)))]


def rack_renamed(zone: str) -> None:
    """As no service does it while instances are there."""
    Aggregate.objects.update(metadata={"availability_zone": zone})


def test_instance_whose_host_has_left_its_zone_is_named_with_both() -> None:
    who = world.cloud("h1", "h2")
    aggregate_create_whole(name="rack", metadata={"availability_zone": "az1"}, hosts=["h1"])
    moved = world.active(who.member, availability_zone="az1")
    world.active(who.member, "other", availability_zone="nova")
    assert faults() == []

    rack_renamed("az2")

    (one,) = faults()
    assert (one.invariant, one.subject) == (1, str(moved.pk))
    assert one.message == "is in zone az1, and its host h1 is in az2, and was asked for in az1"
    assert one.evidence == {"host": "h1", "zone": "az1", "host_zone": "az2", "asked_for": "az1"}
    assert str(moved.pk) in {each.subject for each in audit_findings()}


def test_instance_that_asked_for_no_zone_is_named_too() -> None:
    who = world.cloud("h1")
    aggregate_create_whole(name="rack", metadata={"availability_zone": "az1"}, hosts=["h1"])
    world.active(who.member)
    rack_renamed("az2")
    assert [one.message for one in faults()] == ["is in zone az1, and its host h1 is in az2"]


def test_instance_in_the_zone_of_its_host_that_asked_for_another_is_named() -> None:
    who = world.cloud("h1")
    made = world.active(who.member)
    spec = RequestSpec.objects.get(instance_uuid=made.pk)
    RequestSpec.objects.filter(pk=spec.pk).update(body={**spec.body, "availability_zone": "az1"})
    assert [one.message for one in faults()] == ["is in zone nova, and was asked for in az1"]
    forced = {**spec.body, "availability_zone": "az1", "force_host": "h1"}
    RequestSpec.objects.filter(pk=spec.pk).update(body=forced)
    assert faults() == []
