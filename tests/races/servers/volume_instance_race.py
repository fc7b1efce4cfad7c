"""One race: `volume_instance_race.py ROUNDS` on the database of DATABASE_URL, empty at first.

Four processes ask for instances of the same few volumes and of new ones, choose hosts, build or fail, and delete, all
at once. Then everything is deleted. Prints one JSON object: what was answered how often, what was against the rules
meanwhile, and what is left. What is no refusal ends it.
"""

import json
import multiprocessing
import random
import sys
from collections import Counter
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext
from typing import Any

import django

django.setup()

from django.db import connections  # noqa: E402
from django.db.models import Count  # noqa: E402

from computeagent.protocol.steps import BuildFailure, FailureClass  # noqa: E402
from computeagent.protocol.volumes import PoolAbility, PoolKind, PoolReport, VolumeFacts  # noqa: E402
from computeagent.protocol.work import WorkKind  # noqa: E402
from controlplane.identity.models import Project  # noqa: E402
from controlplane.kernel.errors import KilonovaError  # noqa: E402
from placement.selectors import fleet_usage  # noqa: E402
from servers.agent_api import conductor_connect  # noqa: E402
from servers.instances.services.delete import instance_delete  # noqa: E402
from servers.models import BuildRequest, Image, Instance, StoragePool, Volume, VolumeAttachment  # noqa: E402
from servers.volumes.domain.pools import VOLUME_GB  # noqa: E402
from tests.worlds import cloud as world  # noqa: E402

TIMEOUT_S = 400
RACERS = 4
NAMED = 3
POOL_GIB = 12
FORK: ForkContext = multiprocessing.get_context("fork")
POOL = PoolReport(
    "shared",
    PoolKind.FILE,
    is_shared=True,
    identity="race",
    total_bytes=POOL_GIB * 2**30,
    free_bytes=POOL_GIB * 2**30,
    abilities=tuple(PoolAbility),
)


class Racer:
    """One process: a member of the project, a conductor, and the agents of all hosts."""

    def __init__(self, number: int, people: world.People) -> None:
        self.owner, self.people = f"racer{number}", people
        self.conductor = conductor_connect()
        self.rng = random.Random(number)
        self.said: Counter[str] = Counter()
        self.against: list[str] = []

    def round(self) -> None:
        """One thing of each kind, in another order each time."""
        steps = [self.named, self.named, self.made, self.schedule, self.agents, self.agents, self.delete]
        self.rng.shuffle(steps)
        for step in steps:
            try:
                step()
                self.said[f"{step.__name__}: done"] += 1
            except KilonovaError as error:
                self.said[f"{step.__name__}: {type(error).__name__}"] += 1
            self.look()

    def look(self) -> None:
        """A volume is one instance's, and no more is promised than there is."""
        twice = VolumeAttachment.objects.values("volume").annotate(count=Count("pk")).filter(count__gt=1)
        self.against += [f"volume {one['volume']} is attached {one['count']} times" for one in twice]
        for classes in fleet_usage(list(StoragePool.objects.values_list("pk", flat=True))).values():
            self.against += [
                f"{each.used} of {each.capacity}" for each in classes.values() if each.used > each.capacity
            ]

    def named(self) -> None:
        volume = self.rng.choice(list(Volume.objects.filter(name="named").order_by("pk")))
        self._ask({"source_type": "volume", "uuid": str(volume.pk), "boot_index": 0})

    def made(self) -> None:
        image = str(Image.objects.get(name="demo").pk)
        made = {"destination_type": "volume", "volume_size": 2, "delete_on_termination": True}
        self._ask({"source_type": "image", "uuid": image, "boot_index": 0, **made})

    def _ask(self, device: dict[str, Any]) -> None:
        world.create(self.people.member, image="", block_device_mapping_v2=[device])

    def schedule(self) -> None:
        world.pump()

    def agents(self) -> None:
        """All that waits for any host is asked for by each: one has it."""
        for host in [f"h{number}" for number in range(RACERS)]:
            for wakeup in self.conductor.waiting_work(host=host):
                taken = self.conductor.take(host=host, work_id=wakeup.work_id, owner=self.owner)
                if taken is not None:
                    self._obey(taken)
            for work_id in self.conductor.volume_work(host=host):
                order = self.conductor.volume_take(host=host, work_id=work_id, owner=self.owner, token=self.owner)
                if order is not None:
                    self.conductor.volume_done(lease=order.lease, facts=VolumeFacts())
                    self.said["removed"] += 1

    def _obey(self, taken: Any) -> None:
        if taken.kind is WorkKind.DELETE:
            self.conductor.deleted(lease=taken.lease)
        elif self.rng.random() < 0.3:
            failure = BuildFailure(failure_class=FailureClass.HOST, step="spawning", message="no")
            self.conductor.build_failed(lease=taken.lease, failure=failure)
            self.said["failed"] += 1
        else:
            for each in taken.guest.volumes:
                if each.make is not None:
                    self.conductor.volume_made(lease=taken.lease, volume_id=each.volume.id, facts=VolumeFacts())
            self.conductor.build_done(lease=taken.lease, facts=world.RUNNING)
            self.said["built"] += 1

    def delete(self) -> None:
        ids = [*Instance.objects.filter(deleted_at__isnull=True).values_list("pk", flat=True)[:20]]
        ids += [*BuildRequest.objects.values_list("instance_uuid", flat=True)[:5]]
        if ids:
            instance_delete(caller=self.people.member, instance_id=self.rng.choice(ids))

    def end(self) -> None:
        """Delete all there is, until nothing is under way."""
        for _ in range(20):
            for pk in Instance.objects.filter(deleted_at__isnull=True).values_list("pk", flat=True):
                instance_delete(caller=self.people.member, instance_id=pk)
            for pk in BuildRequest.objects.values_list("instance_uuid", flat=True):
                instance_delete(caller=self.people.member, instance_id=pk)
            world.pump()
            self.agents()


def racer(number: int, people: world.People, count: int, start: Any, answer: Connection) -> None:
    """All rounds of one process."""
    mine = Racer(number, people)
    StoragePool.objects.exists()  # the connection is open before the race starts
    start.wait(TIMEOUT_S)
    for _ in range(count):
        mine.round()
    answer.send((dict(mine.said), mine.against))


def main(count: int) -> dict[str, Any]:
    """Race, then end everything and look."""
    people = world.cloud(*(f"h{number}" for number in range(RACERS)), pools=(POOL,))
    mine = people.member.project_id
    Project.objects.filter(pk=mine).update(quota_instances=1000, quota_cores=1000, quota_ram_mib=10**6)
    for _ in range(NAMED):
        fields = {"state": "available", "is_bootable": True, "name": "named", "size_gib": 1}
        Volume.objects.create(pool=StoragePool.objects.get(), project_id=mine, user_id=people.member.user_id, **fields)
    connections.close_all()
    start, ends = FORK.Barrier(RACERS), []
    for number in range(RACERS):
        ours, theirs = FORK.Pipe(duplex=False)
        FORK.Process(target=racer, args=(number, people, count, start, theirs), daemon=True).start()
        theirs.close()
        ends.append(ours)
    answers = [end.recv() for end in ends]
    said: Counter[str] = Counter()
    for counted, _ in answers:
        said.update(counted)
    Racer(RACERS, people).end()
    usage = fleet_usage([StoragePool.objects.get().pk])
    return {
        "racers": len(answers),
        "said": dict(said),
        "against": [line for _, lines in answers for line in lines],
        "instances": Instance.objects.filter(deleted_at__isnull=True).count(),
        "attachments": VolumeAttachment.objects.count(),
        "volumes": sorted(Volume.objects.values_list("name", "state")),
        "used": sum(classes[VOLUME_GB].used for classes in usage.values()),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(int(sys.argv[1]))))
