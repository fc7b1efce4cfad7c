"""An agent's own handlers, one after the other: real work of a fake hypervisor, by the conductor of this process."""

import io
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from computeagent.agent.context import AgentContext
from computeagent.agent.dispatch import HANDLERS
from computeagent.agent.driver_guard import GuardedDriver
from computeagent.agent.guest_events import GuestEvents
from computeagent.agent.held_leases import HeldLease
from computeagent.agent.host_report import HostReports
from computeagent.agent.networking import Networking
from computeagent.agent.options import AgentOptions
from computeagent.agent.retry import Retry
from computeagent.agent.volume_work import VolumeWork
from computeagent.agent.volumes import HostVolumes
from computeagent.agent.worker import no_scope
from computeagent.drivers.base import Driver
from computeagent.drivers.fake import FakeDriver
from computeagent.drivers.fake_hardware import FakeSizes
from computeagent.networks.memory import MemoryPlug
from computeagent.protocol.work import WorkKind
from computeagent.volumes.base import VolumeBackend
from controlplane.identity.domain import Caller
from servers.agent_api import conductor_connect
from servers.images.services.image import image_create
from servers.images.services.image_store import image_upload
from servers.models import Instance
from tests.worlds import cloud as world
from tests.worlds.networks import CARRIES

DISK = b"a disk that nobody boots" * 100


class Hands:
    """The agent of one host, registered, with a hypervisor of its own: a fake one, or `hypervisor`, which is open."""

    def __init__(
        self,
        host: str,
        state_dir: Path,
        *,
        pools: Sequence[VolumeBackend] = (),
        hypervisor: Driver | None = None,
        carries: Sequence[str] = CARRIES,
    ) -> None:
        self.host = host
        self.carries = carries
        self.fake = FakeDriver(host, sizes=FakeSizes(vcpus=4, memory_mib=8192, disk_gib=100))
        self.conductor: Any = conductor_connect()
        self.plug = MemoryPlug()
        retry = Retry(stopping=lambda: False, pause=lambda _seconds: None)
        networking = Networking(
            host=host, conductor=self.conductor, plug=self.plug, retry=retry, clock=time.monotonic, interval_s=30.0
        )
        volumes = HostVolumes(
            host=host,
            conductor=self.conductor,
            pools={pool.report().name: pool for pool in pools},
            retry=retry,
            state_file=state_dir / "volumes.json",
        )
        driver = GuardedDriver(lambda: hypervisor or self.fake, networking, volumes)
        driver.open()
        self.context = AgentContext(
            host=host,
            owner=f"{host}:1",
            conductor=self.conductor,
            driver=driver,
            reports=HostReports(driver),
            state_dir=state_dir,
            options=AgentOptions(shutdown_timeout_s=5.0),  # no lease is renewed here
            clock=time.monotonic,
            pause=lambda _seconds: None,
            retry=retry,
            guest_events=GuestEvents(time.monotonic),
            networking=networking,
            volumes=volumes,
        )
        self.register()

    def register(self) -> None:
        """Say what the host is and has now."""
        report = self.context.volumes.in_report(self.context.driver.host_report())
        self.conductor.register(host=self.host, report=replace(report, traits=(*report.traits, *self.carries)))

    def take(self, kind: WorkKind) -> HeldLease:
        """The next work of this kind."""
        wakeups = [one for one in self.conductor.waiting_work(host=self.host) if one.kind is kind]
        order = self.conductor.take(host=self.host, work_id=wakeups[0].work_id, owner=self.context.owner)
        assert order is not None
        return HeldLease(order)

    def do(self, kind: WorkKind) -> None:
        """Take it and do it."""
        self.perform(self.take(kind))

    def perform(self, held: HeldLease) -> None:
        """Do what was taken."""
        HANDLERS[held.order.kind](self.context, held)

    def do_volumes(self) -> int:
        """All work on volumes that waits for this host now; how much there was."""
        work = VolumeWork(self.context, no_scope, lambda _name, _body: None)
        return sum(work.do(work_id) for work_id in self.conductor.volume_work(host=self.host))

    def guests(self) -> dict[str, str]:
        """Power states of what is there, by uuid."""
        return {guest.uuid: str(guest.power_state) for guest in self.fake.guests()}


def people_and_image() -> world.People:
    """People, a flavor, and an image `demo` with bytes."""
    who = world.people()
    world.flavor()
    image = image_create(caller=None, name="demo", visibility="public", disk_format="raw")
    image_upload(caller=None, image_id=image.pk, stream=io.BytesIO(DISK))
    return who


def built(caller: Caller, *hands: Hands, **more: Any) -> Instance:
    """One instance that runs on whichever of these hosts was chosen."""
    (made,) = world.create(caller, **more)
    world.pump()
    host = Instance.objects.get(pk=made.pk).host
    next(one for one in hands if one.host == host).do(WorkKind.BUILD)
    return Instance.objects.get(pk=made.pk)
