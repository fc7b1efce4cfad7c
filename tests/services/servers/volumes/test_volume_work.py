"""Work on volumes from the request to its end, by agents' own handlers: who does it, takes over, is told what."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F

from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volumes import VolumeFacts, VolumeWorkKind
from computeagent.volumes.memory import MemoryBackend
from controlplane.kernel.errors import Fenced, NotFound
from controlplane.work.models import Work, WorkState
from controlplane.work.reconcile import end_overdue, wakeups_resend
from controlplane.work.work import NewWork, compute_queue, work_create
from scheduling.models import Service
from servers.models import StoragePool, Volume, VolumeAttachment, VolumeSnapshot
from servers.volumes.domain.errors import PoolUnreachable
from servers.volumes.domain.states import VolumeState
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.services.keys import volume_key_make, volume_key_open
from servers.volumes.services.snapshots import SnapshotRequest, snapshot_create, snapshot_delete
from servers.volumes.services.volumes import volume_create, volume_delete, volume_extend, volume_revert
from servers.volumes.services.work import volume_work_begin, volume_work_move
from tests.worlds import agent_hands
from tests.worlds import cloud as world
from tests.worlds.agent_hands import Hands
from tests.worlds.volumes import promised

pytestmark = pytest.mark.django_db(transaction=True)

MakeHands = Callable[..., Hands]


@pytest.fixture
def people(tmp_path: Path, settings: Any) -> world.People:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images", "IMAGE_RESERVE_BYTES": 0}
    return agent_hands.people_and_image()


@pytest.fixture
def hands_of(tmp_path: Path) -> MakeHands:
    """The agent of a host with a pool of its own and one that all hosts reach."""

    def make(host: str, *, has_own: bool = False, has_shared: bool = True) -> Hands:
        shared = MemoryBackend("shared", tmp_path / "shared.json", is_shared=True)
        own = MemoryBackend("local", tmp_path / f"{host}.json")
        return Hands(host, tmp_path / host, pools=[own] * has_own + [shared] * has_shared)

    return make


def asked(people: world.People, *, size_gib: int = 2, pool: str = "") -> Volume:
    """A volume that is asked for."""
    caller = people.admin if pool else people.member
    return volume_create(caller=caller, request=VolumeRequest(size_gib=size_gib, pool=pool))


def seen_long_ago(host: str) -> None:
    """The host is down."""
    Service.objects.filter(host=host).update(last_seen_up=F("last_seen_up") - timedelta(hours=1))


def cut_off(work: Work) -> None:
    """Whoever has it is heard of no more, and its lease runs out."""
    Work.objects.filter(pk=work.pk).update(lease_until=F("lease_until") - timedelta(hours=1))


def work_on(subject: uuid.UUID) -> Work:
    return Work.objects.filter(subject=subject).order_by("-created_at").first() or Work()


def test_life_of_a_volume_by_an_agent(people: world.People, hands_of: MakeHands) -> None:
    hands = hands_of("h1")
    pool = hands.context.volumes.backend("shared")
    volume = asked(people)
    assert hands.do_volumes() == 1
    volume.refresh_from_db()
    assert (volume.state, volume.location) == (VolumeState.AVAILABLE, {"format": "memory"})
    volume_extend(caller=people.member, volume_id=volume.pk, size_gib=5)
    hands.do_volumes()
    snapshot = snapshot_create(caller=people.member, request=SnapshotRequest(volume.pk))
    hands.do_volumes()
    volume_revert(caller=people.member, volume_id=volume.pk, snapshot_id=snapshot.pk)
    hands.do_volumes()
    volume.refresh_from_db()
    assert (volume.state, volume.size_gib) == (VolumeState.AVAILABLE, 5)
    assert pool.held() == ((str(volume.pk),), ((str(volume.pk), str(snapshot.pk)),))
    snapshot_delete(caller=people.member, snapshot_id=snapshot.pk)
    hands.do_volumes()
    volume_delete(caller=people.member, volume_id=volume.pk)
    hands.do_volumes()
    assert pool.held() == ((), ())
    assert not Volume.objects.exists()
    assert promised(StoragePool.objects.get()) == 0
    assert set(Work.objects.values_list("state", flat=True)) == {WorkState.DONE.value}


def test_owner_reads_what_the_storage_says_only_where_it_is_about_the_volume(
    people: world.People, hands_of: MakeHands
) -> None:
    hands = hands_of("h1")
    memory = hands.context.volumes.backend("shared")
    assert isinstance(memory, MemoryBackend)
    memory.faults["create"] = "no space left on /srv/secret-path"
    volume = asked(people)
    hands.do_volumes()
    volume.refresh_from_db()
    assert volume.state == VolumeState.ERROR
    assert volume.fault == "The storage could not do it. An administrator sees why."
    assert work_on(volume.pk).outcome == {"error": "no space left on /srv/secret-path"}


def test_hosts_with_less_to_do_get_more(people: world.People, hands_of: MakeHands) -> None:
    for host in ("h1", "h2", "h3"):
        hands_of(host)
    for _ in range(6):
        asked(people)
    queues = [queue.removeprefix("compute.") for queue in Work.objects.values_list("queue", flat=True)]
    assert sorted(queues) == ["h1", "h1", "h2", "h2", "h3", "h3"]


def test_own_pool_is_worked_on_by_its_host_alone_and_nobody_when_that_is_down(
    people: world.People, hands_of: MakeHands
) -> None:
    hands_of("h1", has_own=True)
    hands_of("h2", has_own=True)
    volume = asked(people, pool=str(StoragePool.objects.get(host="h2").pk))
    assert work_on(volume.pk).queue == "compute.h2"
    seen_long_ago("h2")
    with pytest.raises(PoolUnreachable) as raised:
        volume_work_begin(kind=VolumeWorkKind.VOLUME_EXTEND, subject=volume.pk, volume=volume)
    assert (
        raised.value.message == "The host that stores the volume is down, or cannot use the pool now. Try again later."
    )


def test_work_of_a_host_that_went_down_is_done_by_another(people: world.People, hands_of: MakeHands) -> None:
    first = hands_of("h1")
    volume = asked(people)
    order = first.conductor.volume_take(host="h1", work_id=str(work_on(volume.pk).pk), owner="h1:1", token="a")
    second = hands_of("h2")
    assert volume_work_move() == 0
    seen_long_ago("h1")
    assert volume_work_move() == 0  # it has its lease still
    cut_off(work_on(volume.pk))
    assert volume_work_move() == 1
    assert volume_work_move() == 0
    for verb in (
        lambda: first.conductor.renew(lease=order.lease),
        lambda: first.conductor.volume_done(lease=order.lease, facts=VolumeFacts()),
        lambda: first.conductor.give_back(lease=order.lease, reason="x"),
    ):
        with pytest.raises(Fenced):
            verb()
    assert first.conductor.volume_take(host="h1", work_id=order.lease.work_id, owner="h1:1", token="a") is None
    assert second.do_volumes() == 1
    volume.refresh_from_db()
    assert volume.state == VolumeState.AVAILABLE
    assert work_on(volume.pk).attempt == 3


def test_host_that_reaches_the_pool_no_more_is_as_good_as_down(people: world.People, hands_of: MakeHands) -> None:
    hands_of("h1")
    volume = asked(people)
    second = hands_of("h2")
    StoragePool.objects.get().hosts.filter(host="h1").update(problem="the disk is away")
    assert volume_work_move() == 1
    assert second.do_volumes() == 1
    volume.refresh_from_db()
    assert volume.state == VolumeState.AVAILABLE


def test_what_only_one_host_can_do_waits_and_says_so_until_its_deadline(
    people: world.People, hands_of: MakeHands
) -> None:
    hands_of("h1", has_own=True, has_shared=False)
    hands_of("h2")
    volume = asked(people, pool="local")
    seen_long_ago("h1")
    assert volume_work_move() == 0
    assert work_on(volume.pk).outcome == {"error": "It waits: host h1 is down."}
    Work.objects.update(deadline_at=F("created_at"))
    assert end_overdue() == 1
    volume.refresh_from_db()
    assert volume.state == VolumeState.ERROR
    assert volume.fault.endswith("passed its deadline. The host that has to do it was down.")
    assert "h1" not in volume.fault


def test_what_writes_into_a_volume_is_taken_over_only_from_a_host_that_was_declared_dead(
    people: world.People, hands_of: MakeHands
) -> None:
    first, second = hands_of("h1"), hands_of("h2")
    volume = asked(people)
    first.do_volumes() or second.do_volumes()
    snapshot = snapshot_create(caller=people.member, request=SnapshotRequest(volume.pk))
    first.do_volumes() or second.do_volumes()
    volume_revert(caller=people.member, volume_id=volume.pk, snapshot_id=snapshot.pk)
    work = work_on(volume.pk)
    host = work.queue.removeprefix(compute_queue(""))
    mine, other = (first, second) if host == "h1" else (second, first)
    assert mine.conductor.volume_take(host=host, work_id=str(work.pk), owner=f"{host}:1", token="a") is not None
    seen_long_ago(host)
    cut_off(work)
    assert volume_work_move() == 0  # it may write still
    Service.objects.filter(host=host).update(forced_down=True)
    assert volume_work_move() == 1
    assert other.do_volumes() == 1
    assert not mine.conductor.volume_work(host=host)
    volume.refresh_from_db()
    assert volume.state == VolumeState.AVAILABLE


def test_never_begun_it_goes_to_another_host_whatever_it_is(people: world.People, hands_of: MakeHands) -> None:
    hands = {"h1": hands_of("h1"), "h2": hands_of("h2")}
    volume = asked(people)
    for each in hands.values():
        each.do_volumes()
    volume_extend(caller=people.member, volume_id=volume.pk, size_gib=9)
    host = work_on(volume.pk).queue.removeprefix(compute_queue(""))
    seen_long_ago(host)
    assert volume_work_move() == 1
    del hands[host]
    (other,) = hands.values()
    assert other.do_volumes() == 1


def test_work_on_volumes_is_no_work_on_instances_and_the_other_way_round(
    people: world.People, hands_of: MakeHands
) -> None:
    hands = hands_of("h1")
    assert hands.conductor.wakeups(host="h1", timeout_s=0.01) == []
    volume = asked(people)
    work = work_on(volume.pk)
    wakeups_resend()
    assert [str(one.kind) for one in hands.conductor.wakeups(host="h1", timeout_s=1)] == ["volumes"]
    assert hands.conductor.waiting_work(host="h1") == []
    assert hands.conductor.take(host="h1", work_id=str(work.pk), owner="h1:1") is None
    (made,) = world.create(people.member)
    world.pump()
    (build,) = hands.conductor.waiting_work(host="h1")
    assert hands.conductor.volume_work(host="h1") == [str(work.pk)]
    assert hands.conductor.volume_take(host="h1", work_id=build.work_id, owner="h1:1", token="a") is None
    assert hands.conductor.volume_take(host="h1", work_id="nonsense", owner="h1:1", token="a") is None
    assert hands.do_volumes() == 1
    assert made.pk


def test_verbs_of_instances_refuse_the_lease_of_a_volume(people: world.People, hands_of: MakeHands) -> None:
    hands = hands_of("h1")
    volume = asked(people)
    conductor = hands.conductor
    order = conductor.volume_take(host="h1", work_id=str(work_on(volume.pk).pk), owner="h1:1", token="a")
    lease = order.lease
    for verb in (
        lambda: conductor.build_done(lease=lease, facts=world.RUNNING),
        lambda: conductor.action_done(lease=lease, facts=world.RUNNING),
        lambda: conductor.record_steps(lease=lease, begins="x"),
        lambda: conductor.deleted(lease=lease),
        lambda: conductor.group_check(lease=lease),
        lambda: conductor.first_boot(lease=lease),
        lambda: conductor.upload_end(lease=lease),
        lambda: conductor.volume_made(lease=lease, volume_id=str(volume.pk), facts=VolumeFacts()),
        lambda: list(conductor.image_chunks(lease=lease)),
        lambda: list(conductor.image_chunks(lease=lease, image_id=str(uuid.uuid4()))),
    ):
        with pytest.raises((Fenced, NotFound)):
            verb()
    conductor.renew(lease=lease)
    conductor.volume_progress(lease=lease, done_bytes=3, total_bytes=9)
    assert work_on(volume.pk).outcome == {"done_bytes": 3, "total_bytes": 9}
    conductor.volume_failed(lease=lease, message="It is too small.", failure_class=FailureClass.USER)
    with pytest.raises(Fenced):
        conductor.volume_done(lease=lease, facts=VolumeFacts())
    volume.refresh_from_db()
    assert (volume.state, volume.fault) == (VolumeState.ERROR, "It is too small.")


def test_key_is_given_to_a_host_with_work_or_a_guest_and_to_no_other(
    people: world.People, hands_of: MakeHands, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = hands_of("h1"), hands_of("h2")
    volume = asked(people)
    volume_key_make(owner_id=volume.pk)
    secret = volume_key_open(owner_id=volume.pk)
    work = work_on(volume.pk)
    host = work.queue.removeprefix(compute_queue(""))
    mine, other = (first, second) if host == "h1" else (second, first)
    named = str(volume.pk)
    for hands in (mine, other):  # it waits, and nobody has taken it
        with pytest.raises(NotFound):
            hands.conductor.volume_key(host=hands.host, volume_id=named)
    order = mine.conductor.volume_take(host=host, work_id=str(work.pk), owner=f"{host}:1", token="a")
    assert mine.conductor.volume_key(host=host, volume_id=named) == secret
    with pytest.raises(NotFound, match="nothing to do with"):
        other.conductor.volume_key(host=other.host, volume_id=named)
    mine.conductor.volume_done(lease=order.lease, facts=VolumeFacts())
    with pytest.raises(NotFound):
        mine.conductor.volume_key(host=host, volume_id=named)
    instance = agent_hands.built(people.admin, first, second, availability_zone=f"nova:{other.host}")
    VolumeAttachment.objects.create(volume=volume, instance_uuid=instance.pk)
    assert other.conductor.volume_key(host=other.host, volume_id=named) == secret
    with pytest.raises(NotFound):
        mine.conductor.volume_key(host=host, volume_id=named)
    for nonsense in ("", "x", str(uuid.uuid4())):
        with pytest.raises(NotFound):
            mine.conductor.volume_key(host=host, volume_id=nonsense)
    assert secret not in caplog.text


def test_key_of_what_a_volume_is_made_of_is_needed_too(people: world.People, hands_of: MakeHands) -> None:
    hands = hands_of("h1")
    source = asked(people)
    hands.do_volumes()
    volume_key_make(owner_id=source.pk)
    snapshot = snapshot_create(caller=people.member, request=SnapshotRequest(source.pk))
    hands.do_volumes()
    copy = Volume.objects.create(
        project_id=source.project_id,
        user_id=source.user_id,
        size_gib=2,
        pool=Volume.objects.get(pk=source.pk).pool,
        source_kind="snapshot",
        source_id=snapshot.pk,
    )
    volume_work_begin(kind=VolumeWorkKind.VOLUME_CREATE, subject=copy.pk, volume=copy)
    order = hands.conductor.volume_take(host="h1", work_id=str(work_on(copy.pk).pk), owner="h1:1", token="a")
    assert (order.source.kind, order.source.volume_id) == ("snapshot", str(source.pk))
    assert hands.conductor.volume_key(host="h1", volume_id=str(source.pk))
    assert VolumeSnapshot.objects.count() == 1


def test_work_whose_volume_is_gone_is_no_order(people: world.People, hands_of: MakeHands) -> None:
    hands = hands_of("h1")
    work = work_create(
        NewWork(compute_queue("h1"), VolumeWorkKind.VOLUME_DELETE, uuid.uuid4(), 60, {"volume_id": str(uuid.uuid4())})
    )
    with pytest.raises(NotFound):
        hands.conductor.volume_take(host="h1", work_id=str(work.pk), owner="h1:1", token="a")
    assert hands.do_volumes() == 0
    assert volume_work_move() == 0


def test_host_that_was_declared_dead_is_given_no_work(people: world.People, hands_of: MakeHands) -> None:
    hands = hands_of("h1")
    asked(people)
    Service.objects.update(forced_down=True)
    assert hands.conductor.volume_work(host="h1") == []
