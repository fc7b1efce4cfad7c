"""Boot from volume with real guests: made of an image on the way, it outlives its instance and boots another."""

import io
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from computeagent.drivers.libvirt.boot_sector import boot_sector
from computeagent.drivers.libvirt.driver import LibvirtDriver
from computeagent.protocol.work import WorkKind
from computeagent.volumes.file.backend import FileBackend
from computeagent.volumes.file.directory import MARKER, PoolDirectory
from scheduling.models import Service
from servers.images.services.image import image_create
from servers.images.services.image_store import image_upload
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.instances.services.rescue import instance_rescue
from servers.models import Image, Instance, Volume
from tests.fixtures.hypervisors import answers_known, daemons_end
from tests.fixtures.patience import eventually
from tests.worlds import cloud as world
from tests.worlds.agent_hands import Hands

pytestmark = [
    pytest.mark.libvirt,
    pytest.mark.qemu,
    pytest.mark.long,
    pytest.mark.django_db(transaction=True),
]

WORDS = "hello from the volume"
IMAGE = boot_sector(WORDS + "\r\n").ljust(2**20, b"\0")
RESCUE_WORDS = "hello from the rescue disk"
RESCUE_IMAGE = boot_sector(RESCUE_WORDS + "\r\n").ljust(2**20, b"\0")


@pytest.fixture(autouse=True)
def store(settings: Any, tmp_path: Path) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images", "IMAGE_RESERVE_BYTES": 0}


@pytest.fixture
def place() -> Iterator[Path]:
    """Sockets want short paths."""
    with tempfile.TemporaryDirectory(prefix="kn-") as directory:
        yield Path(directory)
        daemons_end(Path(directory))


@pytest.fixture
def hypervisors(qemu_answers: Path, place: Path) -> Iterator[dict[str, LibvirtDriver]]:
    """Two, each with a libvirtd of its own."""
    found = {}
    for name in ("h1", "h2"):
        state = place / name
        state.mkdir()
        for path in (place, state):
            path.chmod(0o711)  # QEMU's user has to pass
        answers_known(qemu_answers, state)
        found[name] = LibvirtDriver(f"qemu:///private?root={state / 'hv'}", state, name)
        found[name].open()
    yield found
    for driver in found.values():
        driver.close()


@pytest.fixture
def pool(place: Path) -> FileBackend:
    """In a directory that both hosts have."""
    (place / "pool").mkdir(mode=0o711)
    (place / "pool" / MARKER).write_text(f"{uuid.uuid4()}\n")
    return FileBackend("shared", PoolDirectory(place / "pool", None), is_shared=True)


def uploaded(name: str, data: bytes) -> Image:
    image = image_create(caller=None, name=name, visibility="public", disk_format="raw")
    image_upload(caller=None, image_id=image.pk, stream=io.BytesIO(data))
    return image


def asked(who: world.People, name: str, device: dict[str, Any]) -> Instance:
    (made,) = world.create(who.member, name, image="", block_device_mapping_v2=[device])
    world.pump()
    return Instance.objects.get(pk=made.pk)


def test_a_volume_made_of_an_image_on_the_way_boots_there_and_then_elsewhere(
    tmp_path: Path, hypervisors: dict[str, LibvirtDriver], pool: FileBackend
) -> None:
    who = world.people()
    world.flavor(memory_mib=64)
    image = uploaded("demo", IMAGE)
    uploaded("rescuer", RESCUE_IMAGE)
    hands = {
        name: Hands(name, tmp_path / name, pools=[pool], hypervisor=driver) for name, driver in hypervisors.items()
    }

    def says(instance: Instance, words: str = WORDS, times: int = 1) -> bool:
        log = hypervisors[instance.host].console_log(str(instance.pk), max_bytes=100_000)
        return log.count(words.encode()) == times

    new = {"source_type": "image", "destination_type": "volume", "uuid": str(image.pk), "volume_size": 1}
    first = asked(who, "first", {**new, "boot_index": 0})
    hands[first.host].do(WorkKind.BUILD)
    first.refresh_from_db()
    root = Volume.objects.get()
    assert (first.vm_state, root.state) == ("active", "in-use")
    eventually(lambda: says(first))

    instance_delete(caller=who.member, instance_id=first.pk)
    hands[first.host].do(WorkKind.DELETE)
    root.refresh_from_db()
    assert root.state == "available"

    Service.objects.filter(host=first.host).update(disabled=True)
    second = asked(who, "second", {"source_type": "volume", "uuid": str(root.pk), "boot_index": 0})
    assert second.host not in ("", first.host)
    hands[second.host].do(WorkKind.BUILD)
    eventually(lambda: says(second))

    instance_rescue(caller=who.member, instance_id=second.pk, image="rescuer")
    hands[second.host].do(WorkKind.RESCUE)
    eventually(lambda: says(second, RESCUE_WORDS))
    instance_act(caller=who.member, instance_id=second.pk, action="unrescue")
    hands[second.host].do(WorkKind.UNRESCUE)
    eventually(lambda: says(second, times=2))
    second.refresh_from_db()
    assert second.vm_state == "active"

    instance_delete(caller=who.member, instance_id=second.pk)
    hands[second.host].do(WorkKind.DELETE)
    assert pool.held() == ((str(root.pk),), ())
    assert [driver.guests() for driver in hypervisors.values()] == [[], []]
