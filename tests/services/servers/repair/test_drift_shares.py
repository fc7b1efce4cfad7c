"""One host never hides what is wrong with another: how much of a look it fills, and what many orphans of it cost."""

import logging
import uuid
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from computeagent.protocol.bounds import ORPHANS_MAX
from computeagent.protocol.guests import GuestOnHypervisor
from computeagent.protocol.power import PowerState
from computeagent.protocol.volumes import PoolKind, PoolReport, VolumesOnHost
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict
from controlplane.work.models import Heal
from servers.agent_api import conductor_connect
from servers.models import DriftSighting, Instance, OrphanGuest, PoolSighting
from servers.repair.domain.drift import DriftKind
from servers.repair.selectors.drift import drift_checks, drift_rows
from servers.repair.services.drift import LOOKS, drift_check_run, drift_heal
from servers.volumes.services.present import LISTED_MAX, volumes_present
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

PARTS = 4
"""SQLite takes a thousand values in one statement: what is written together may go in some more parts."""
POOL = PoolReport("local", PoolKind.FILE, identity="m-1", total_bytes=2**40, free_bytes=2**40)


def strangers(many: int) -> list[GuestOnHypervisor]:
    """The same ones each time, in the order of their uuids."""
    return [GuestOnHypervisor(str(uuid.UUID(int=at + 1)), f"i-{at}", PowerState.RUNNING) for at in range(many)]


def report(host: str, guests: list[GuestOnHypervisor], *, more: int = 0) -> list[str]:
    return conductor_connect().orphan_guests(host=host, guests=guests, more=more)


def look() -> None:
    for name in LOOKS:
        drift_check_run(name)


def of_host(host: str) -> list[str]:
    return sorted(drift_rows(host=host).values_list("kind", flat=True))


def statements(many: int) -> int:
    with CaptureQueriesContext(connection) as seen:
        report("h1", strangers(many))
    return len(seen)


def test_many_orphans_cost_few_statements_more_than_one(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        few = statements(1)
        OrphanGuest.objects.all().delete()
        assert statements(ORPHANS_MAX) <= few + PARTS
    lines = [each.message for each in caplog.records if "no instance explains" in each.message]
    assert len(lines) == 2
    assert f"host h1 has {ORPHANS_MAX} guests more" in lines[1]
    assert OrphanGuest.objects.count() == ORPHANS_MAX


def test_many_that_were_removed_are_booked_in_few_statements() -> None:
    def gone(many: int) -> int:
        report("h1", strangers(many))
        OrphanGuest.objects.update(released_at=now_plus(0.0))
        with CaptureQueriesContext(connection) as seen:
            report("h1", [])
        return len(seen)

    assert gone(50) <= gone(1) + PARTS
    assert Heal.objects.filter(kind="orphan_guest").count() == 51


def test_what_is_known_of_an_orphan_stays_when_it_is_told_again() -> None:
    report("h1", strangers(1))
    OrphanGuest.objects.update(first_seen_at=now_plus(-3600.0), asked_by="root")
    before = OrphanGuest.objects.get()
    assert report("h1", strangers(2)) == [strangers(1)[0].uuid]
    after = OrphanGuest.objects.get(pk=before.pk)
    assert (after.first_seen_at, after.asked_by) == (before.first_seen_at, "root")
    assert after.last_seen_at >= before.last_seen_at


def test_what_an_older_agent_tells_at_length_is_listed_in_part_and_counted() -> None:
    told = strangers(ORPHANS_MAX + 3)
    report("h1", told[::-1], more=1)
    rows = OrphanGuest.objects.order_by("guest_uuid")
    assert [str(row.guest_uuid) for row in rows] == [guest.uuid for guest in told[:ORPHANS_MAX]]
    assert {row.more for row in rows} == {4}


def test_what_is_only_beyond_the_list_is_not_booked_as_removed() -> None:
    report("h1", strangers(3))
    OrphanGuest.objects.update(released_at=now_plus(0.0))
    report("h1", strangers(2), more=1)
    assert OrphanGuest.objects.count() == 2
    assert not Heal.objects.exists()
    report("h1", strangers(1))
    assert Heal.objects.get().subject == uuid.UUID(strangers(2)[1].uuid)


def test_host_with_very_many_orphans_leaves_room_for_others(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "DRIFT_MAX_FINDINGS": 12, "DRIFT_MAX_FINDINGS_OF_HOST": 5}
    report("h1", strangers(9), more=44_700)
    report("h2", strangers(2))
    look()
    assert of_host("h2") == ["orphan_guest"] * 2
    assert of_host("h1") == ["more_of_host"] + ["orphan_guest"] * 5
    more = drift_rows(kinds=[DriftKind.MORE_OF_HOST]).get()
    assert more.found == "Of host h1 there are 44704 findings more than are listed."
    assert more.evidence == {"host": "h1", "listed": 5, "more": 44_704, "by_kind": {"orphan_guest": 44_704}}
    assert not drift_checks()["guests"].is_cut
    with pytest.raises(Conflict, match="once those that are listed now are put right"):
        drift_heal(key=more.key, actor="root")
    report("h1", strangers(5))
    look()
    assert of_host("h1") == ["orphan_guest"] * 5


def test_each_kind_of_finding_counts_to_the_share_of_its_host(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "DRIFT_MAX_FINDINGS_OF_HOST": 1}
    who = world.cloud("h1")
    world.create(who.member, min_count=3)
    world.pump()
    world.finish_builds()
    Instance.objects.update(power_state="shutdown")
    look()
    assert of_host("h1") == ["guest_off", "more_of_host"]
    assert drift_rows(kinds=[DriftKind.MORE_OF_HOST]).get().evidence["by_kind"] == {"guest_off": 2}
    assert DriftSighting.objects.count() == 2


def test_pool_with_very_many_strangers_lists_some_and_counts_the_others() -> None:
    world.host("h1", pools=(POOL,))
    names = tuple(str(uuid.UUID(int=at + 1)) for at in range(LISTED_MAX + 40))
    for _ in range(2):  # twice, so that no shadow of a listing is shown
        volumes_present(host="h1", pools=[VolumesOnHost("local", "m-1", names)])
    assert PoolSighting.objects.count() == LISTED_MAX
    look()
    assert drift_rows(kinds=[DriftKind.MORE_OF_HOST]).get().evidence["by_kind"] == {"volume_orphan": 40}
    asked = PoolSighting.objects.order_by("name").last()
    assert asked is not None
    PoolSighting.objects.filter(pk=asked.pk).update(asked_by="root")
    (due,) = volumes_present(host="h1", pools=[VolumesOnHost("local", "m-1", (str(uuid.UUID(int=0)), *names))])
    assert due.volumes == (asked.name,)
