"""One race: `volume_race.py PROCESSES VOLUMES` on the database of DATABASE_URL, empty at first.

Processes of one project, whose quota is VOLUMES, make, grow, copy, offer and remove volumes at once, in a pool with
less room than they want; one of them does what the pool's host would do, another one the heals. Prints one JSON object
of what is in the rows. What is no refusal ends it.
"""

import json
import multiprocessing
import random
import sys
import time
import uuid
from collections import Counter
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext
from multiprocessing.synchronize import Barrier, Event
from typing import Any

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connections  # noqa: E402

from computeagent.protocol.steps import FailureClass  # noqa: E402
from computeagent.protocol.volumes import PoolAbility, VolumeFacts, VolumeSourceKind, VolumeWorkKind  # noqa: E402
from controlplane.identity.domain import Caller, Role  # noqa: E402
from controlplane.identity.models import Project  # noqa: E402
from controlplane.kernel.errors import Conflict, Fenced, Forbidden, Invalid, NoCapacity, NotFound  # noqa: E402
from controlplane.work.models import Work, WorkState  # noqa: E402
from controlplane.work.models.work import OPEN_STATES  # noqa: E402
from controlplane.work.work import work_take  # noqa: E402
from servers.models import StoragePool, Volume, VolumeSnapshot, VolumeTransfer  # noqa: E402
from servers.repair.services.audit import audit_findings  # noqa: E402
from servers.repair.services.volume_heal import stuck_volumes_heal  # noqa: E402
from servers.volumes.domain.volumes import VolumeRequest  # noqa: E402
from servers.volumes.services.snapshots import SnapshotRequest, snapshot_create, snapshot_delete  # noqa: E402
from servers.volumes.services.transfers import transfer_accept, transfer_create, transfer_delete  # noqa: E402
from servers.volumes.services.volumes import volume_create, volume_delete, volume_extend, volume_revert  # noqa: E402
from servers.volumes.services.work_ends import volume_work_done, volume_work_failed  # noqa: E402
from tests.fixtures.patience import PATIENCE_S, eventually  # noqa: E402
from tests.worlds.volumes import promised, small_cloud, storage_pool  # noqa: E402

TIMEOUT_S = 2 * PATIENCE_S
"""Long enough for a user to run out of patience and say what it did not come to."""
ROUNDS = 40
ASKED = ("create", "create", "create", "copy", "extend", "snapshot", "revert", "delete", "transfer")
NEEDED = frozenset(ASKED) - {"revert"}
"""Each user goes on until it has done all of these: on a busy machine volumes are seldom at rest."""
MEANS = ("create", "delete", "make room")
"""What a user that still misses a deed does beside it. Else the pool may stay empty, or full of what nobody removes:
volumes that were given away, and offers that nobody took."""
REFUSALS = (Conflict, Invalid, Forbidden, NoCapacity, NotFound)
FORK: ForkContext = multiprocessing.get_context("fork")
ABILITIES = tuple(one for one in PoolAbility if one is not PoolAbility.CLONE)


class User:
    """Does anything to any volume of the project, and counts it."""

    def __init__(self, number: int, project: Project, other: Project) -> None:
        self.done: Counter[str] = Counter()
        self._project = project
        self._chance = random.Random(number)
        self._caller = Caller(uuid.uuid4(), f"user {number}", project.pk, project.name, frozenset({Role.MEMBER}))
        self._taker = Caller(uuid.uuid4(), f"taker {number}", other.pk, other.name, frozenset({Role.MEMBER}))

    def deed(self, what: str) -> None:
        """Ask for it once, of a volume by chance. A refusal is counted too."""
        try:
            ask(what, self._caller, self._taker, self._chance, self._drawn())
            self.done[what] += 1
        except REFUSALS as error:
            self.done[f"{what} {type(error).__name__}"] += 1

    def rounds(self) -> None:
        """A number of deeds, and then as many more as it takes to have done each kind."""
        for _ in range(ROUNDS):
            self.deed(self._chance.choice(ASKED))
            time.sleep(self._chance.random() * 0.05)  # so that hosts come to their turn
        eventually(self._has_done_all, lambda: f"{self.missing()} after {dict(self.done)}")

    def missing(self) -> list[str]:
        """The kinds that it has not done yet."""
        return sorted(NEEDED - self.done.keys())

    def _has_done_all(self) -> bool:
        if self.missing():
            self.deed(self._chance.choice((*self.missing(), *MEANS)))
        return not self.missing()

    def _drawn(self) -> tuple[uuid.UUID, uuid.UUID, uuid.UUID]:
        volumes = list(Volume.objects.filter(project=self._project).values_list("pk", flat=True))
        snapshots = list(VolumeSnapshot.objects.filter(project=self._project).values_list("pk", "volume_id"))
        one = self._chance.choice(volumes) if volumes else uuid.uuid4()
        snapshot, of = self._chance.choice(snapshots) if snapshots else (uuid.uuid4(), one)
        return one, snapshot, of


def user(number: int, project: Project, other: Project, start: Barrier, answer: Connection) -> None:
    """One of them, who tells what it has done."""
    one = User(number, project, other)
    Volume.objects.exists()  # the connection is open before the race starts
    start.wait(TIMEOUT_S)
    one.rounds()
    answer.send(one.done)


def ask(
    what: str, caller: Caller, taker: Caller, chance: random.Random, at: tuple[uuid.UUID, uuid.UUID, uuid.UUID]
) -> None:
    """One request. `at`: a volume, a snapshot, and the volume that it is of."""
    one, snapshot, of = at
    match what:
        case "create":
            volume_create(caller=caller, request=VolumeRequest(size_gib=chance.randrange(1, 6)))
        case "copy":
            asked = VolumeRequest(source_kind=VolumeSourceKind.VOLUME, source_id=one)
            volume_create(caller=caller, request=asked)
        case "extend":
            volume_extend(caller=caller, volume_id=one, size_gib=chance.randrange(2, 12))
        case "snapshot":
            snapshot_create(caller=caller, request=SnapshotRequest(one))
        case "revert":
            volume_revert(caller=caller, volume_id=of, snapshot_id=snapshot)
            snapshot_delete(caller=caller, snapshot_id=snapshot)
        case "delete":
            volume_delete(caller=caller, volume_id=one, with_snapshots=True)
        case "transfer":
            offer = transfer_create(caller=caller, volume_id=one)
            transfer_accept(caller=taker, transfer_id=offer.transfer.pk, word=offer.word)
        case "make room":
            make_room(caller, taker, chance)


def make_room(caller: Caller, taker: Caller, chance: random.Random) -> None:
    """One offer is taken back, and one of the volumes that were given away is removed."""
    if offers := list(VolumeTransfer.objects.values_list("pk", flat=True)):
        transfer_delete(caller=caller, transfer_id=chance.choice(offers))
    if given := list(Volume.objects.filter(project=taker.project_id).values_list("pk", flat=True)):
        volume_delete(caller=taker, volume_id=chance.choice(given), with_snapshots=True)


def host(stop: Event) -> None:
    """Take whatever waits and end it, one time in five as failed, until there is nothing after the race."""
    chance = random.Random(99)
    while True:
        waiting = list(Work.objects.filter(state__in=OPEN_STATES).values_list("pk", flat=True))
        if stop.is_set() and not waiting:
            return
        for pk in waiting:
            taken = work_take(work_id=pk, owner="host")
            if taken is None:
                continue
            with suppress(Fenced):
                if chance.random() < 0.2 and not stop.is_set():
                    volume_work_failed(lease=taken[1], message="It failed.", failure_class=FailureClass.USER)
                else:
                    volume_work_done(lease=taken[1], facts=VolumeFacts())
        time.sleep(0.01)


def heals(stop: Event) -> None:
    """Heal all the time: nothing of it is old enough to be anybody's but its worker's."""
    while not stop.is_set():
        stuck_volumes_heal()
        time.sleep(0.1)


def setup(count: int) -> tuple[Project, Project, StoragePool]:
    """A pool of fewer GiB than are wanted."""
    call_command("migrate", verbosity=0)
    people = small_cloud("h1")
    Project.objects.filter(pk=people.member.project_id).update(quota_volumes=count, quota_volume_gib=8 * count)
    project, other = (Project.objects.get(pk=one.project_id) for one in (people.member, people.stranger))
    return project, other, storage_pool("shared", "h1", total_gib=4 * count, abilities=ABILITIES)


def main(processes: int, count: int) -> dict[str, Any]:
    """Race, then look."""
    project, other, pool = setup(count)
    connections.close_all()
    start, stop = FORK.Barrier(processes), FORK.Event()
    helpers = [FORK.Process(target=each, args=(stop,), daemon=True) for each in (host, heals)]
    for each in helpers:
        each.start()
    ends = []
    for number in range(processes):
        here, there = FORK.Pipe()
        FORK.Process(target=user, args=(number, project, other, start, there), daemon=True).start()
        ends.append(here)
    told = [end.recv() for end in ends if end.poll(TIMEOUT_S)]
    assert len(told) == processes, "a user did not end: see above"
    stop.set()
    for each in helpers:
        each.join(TIMEOUT_S)
    volumes = list(Volume.objects.values_list("project_id", "size_gib"))
    # What was never made holds no room, also where its removal failed then.
    failed = Work.objects.filter(kind=VolumeWorkKind.VOLUME_SNAPSHOT_CREATE, state=WorkState.FAILED)
    made = VolumeSnapshot.objects.exclude(state="error").exclude(pk__in=list(failed.values_list("subject", flat=True)))
    snapshots = list(made.values_list("size_gib", flat=True))
    return {
        "done": sum(told, Counter()),
        "helpers": [each.exitcode for each in helpers],
        "volumes": sum(1 for owner, _ in volumes if owner == project.pk),
        "gib": sum(size for _, size in volumes) + sum(snapshots),
        "promised": promised(pool),
        "open_work": Work.objects.filter(state__in=OPEN_STATES).count(),
        "transfers": VolumeTransfer.objects.count(),
        "busy": sorted(Volume.objects.exclude(state__in=["available", "error"]).values_list("state", flat=True)),
        "findings": [f"{one.subject} {one.message} {one.evidence}" for one in audit_findings()],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*map(int, sys.argv[1:]))))
