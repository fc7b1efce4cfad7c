"""A snapshot as its agent sends it over real sockets: pieces, cuts, lost answers, and an agent that begins anew."""

import dataclasses
import hashlib
import io
import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from computeagent.agent.dispatch import HANDLERS
from computeagent.agent.held_leases import HeldLease
from computeagent.drivers.blank_disk import blank_disk
from computeagent.drivers.fake import FakeDriver
from computeagent.protocol.conductor import Conductor
from computeagent.protocol.work import WorkKind
from computeagent.transport.address import ControlPlaneAddress
from computeagent.transport.http_conductor import enrol, http_conductor
from computeagent.transport.secret_file import SecretFile
from controlplane.kernel.errors import Fenced, TooLarge
from servers.agent_api.credentials import enrolment_create
from servers.images.services.image_store import image_chunks
from servers.instances.services.act import instance_act
from servers.models import Image, Instance
from tests.api.servers.agent_door.test_http_conductor import cutting_proxy
from tests.units.computeagent.agent.conftest import guest_spec
from tests.worlds.agent_hands import Hands, built, people_and_image

pytestmark = pytest.mark.django_db(transaction=True)

AGENT = str(uuid.uuid4())
DISK = blank_disk(guest_spec()).ljust(2**20, b"\0") + os.urandom(19 * 2**20)


class LargeDisk(FakeDriver):
    """Its copies are of three pieces."""

    def snapshot_open(self, guest_uuid: str, image_id: str) -> BinaryIO:
        """Of any guest the same."""
        super().snapshot_open(guest_uuid, image_id)
        return io.BytesIO(DISK)


class ByTheDoor:
    """An instance on a host whose agent asks over HTTP."""

    def __init__(self, live_server: Any, tmp_path: Path) -> None:
        self.who = people_and_image()
        self.hands = Hands("h1", tmp_path)
        self.hands.fake.__class__ = LargeDisk
        self.instance = built(self.who.member, self.hands)
        self.address, self.secret = ControlPlaneAddress(live_server.url), SecretFile(tmp_path)
        enrol(self.address, self.secret, host="h1", token=enrolment_create(host="h1").token)

    def conductor(self, address: ControlPlaneAddress) -> Conductor:
        made = http_conductor(address, self.secret)
        made.host_own(host="h1", agent_id=AGENT, guests=[])
        return made

    def ask(self) -> Image:
        instance_act(caller=self.who.member, instance_id=self.instance.pk, action="snapshot", arguments={"name": "s"})
        return Image.objects.get(name="s")

    def take(self, conductor: Conductor) -> HeldLease:
        (wakeup,) = conductor.waiting_work(host="h1")
        order = conductor.take(host="h1", work_id=wakeup.work_id, owner="h1:1")
        assert order is not None
        return HeldLease(order)

    def do(self, conductor: Conductor) -> None:
        context = dataclasses.replace(self.hands.context, conductor=conductor)
        held = self.take(self.conductor(self.address))
        with suppress(Fenced):  # of a last word whose answer was lost, and that was said again
            HANDLERS[WorkKind.SNAPSHOT](context, held)


@pytest.fixture
def door(live_server: Any, tmp_path: Path, settings: Any) -> ByTheDoor:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images", "IMAGE_RESERVE_BYTES": 0}
    return ByTheDoor(live_server, tmp_path)


def test_snapshot_arrives_whole_although_each_second_answer_is_lost(door: ByTheDoor) -> None:
    image = door.ask()
    with cutting_proxy(door.address, lambda number: 0 if number % 2 else None) as cut:
        door.do(_reconnecting(door.conductor(cut)))
    image.refresh_from_db()
    assert (image.status, image.size_bytes) == ("active", len(DISK))
    assert b"".join(image_chunks(image.pk)) == DISK
    assert Instance.objects.get(pk=door.instance.pk).task_state == ""


def _reconnecting(conductor: Any) -> Any:
    """The same conductor, each of whose requests has a connection of its own."""
    ask = conductor.ask

    def asked(*arguments: Any, **named: Any) -> Any:
        conductor._pool.clear()
        return ask(*arguments, **named)

    conductor.ask = asked
    return conductor


def test_agent_that_begins_anew_goes_on_with_what_has_come(door: ByTheDoor) -> None:
    image, conductor = door.ask(), door.conductor(door.address)
    held, digest = door.take(conductor), hashlib.sha256(DISK).hexdigest()
    place = conductor.upload_begin(lease=held.lease, size_bytes=len(DISK), sha256=digest)
    piece = DISK[: place.piece_bytes]
    assert conductor.upload_piece(lease=held.lease, offset=0, data=piece) == place.piece_bytes
    conductor.void_leases(host="h1", owner_prefix="h1:")
    sent: list[int] = []
    counting: Any = door.conductor(door.address)
    real = counting._call

    def called(verb: Any, **arguments: Any) -> Any:
        if verb.name == "upload_piece":
            sent.append(arguments["offset"])
        return real(verb, **arguments)

    counting._call = called
    door.do(counting)
    assert sent == [place.piece_bytes, 2 * place.piece_bytes]
    assert b"".join(image_chunks(image.pk)) == DISK
    with pytest.raises(Fenced):
        conductor.upload_piece(lease=held.lease, offset=0, data=piece)


def test_piece_with_bytes_of_every_kind_arrives_as_it_is(door: ByTheDoor) -> None:
    door.ask()
    conductor = door.conductor(door.address)
    held = door.take(conductor)
    data = b"\n\\u0000\xff\x00{}" * 100
    sha256 = hashlib.sha256(data).hexdigest()
    conductor.upload_begin(lease=held.lease, size_bytes=len(data), sha256=sha256)
    assert conductor.upload_piece(lease=held.lease, offset=0, data=data) == len(data)
    with pytest.raises(TooLarge):
        conductor.upload_piece(lease=held.lease, offset=0, data=b"x" * (9 * 2**20))
