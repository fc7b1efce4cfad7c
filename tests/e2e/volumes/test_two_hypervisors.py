"""One volume, two hypervisors: what a guest wrote on the one is there for a guest on the other."""

import base64
import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.host_options import HostOptions
from computeagent.drivers.libvirt.driver import LibvirtDriver
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.volumes import NO_SOURCE, GuestVolume, PoolKind, VolumeSpec
from computeagent.volumes.base import VolumeBackend
from computeagent.volumes.factory import host_pools
from computeagent.volumes.file.directory import pool_begin
from computeagent.volumes.nbd.backend import NbdBackend
from computeagent.volumes.nbd.client import NbdClient
from controlplane.launcher.demo_image.build import MIN_RAM_MIB, demo_image_build
from tests.e2e.drivers.conftest import Hypervisor
from tests.fixtures.hypervisors import answers_known, daemons_end
from tests.fixtures.patience import eventually
from tests.fixtures.servers import free_port

pytestmark = [pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.processes]
SHARED_ENV = "SHARED_POOL_DIRECTORY"
"""Where the shared directory is, for `test_shared_pool_on_nfs`: a mount."""


@dataclass
class Host:
    """A hypervisor of its own, with its pools."""

    hypervisor: Hypervisor
    pools: dict[str, VolumeBackend]

    def connected(self, volume: VolumeSpec, *, is_shared: bool = False) -> GuestVolume:
        source = self.pools[volume.pool].connect(volume)
        return GuestVolume(attachment_id=str(uuid.uuid4()), volume=volume, source=source, is_shared=is_shared)

    def attach(self, guest: GuestSpec, volume: GuestVolume) -> GuestSpec:
        having = replace(guest, volumes=(volume,))
        self.hypervisor.driver.attach_volume(having, volume.volume.id)
        return having

    def says(self, guest: GuestSpec, words: str) -> bool:
        log = self.hypervisor.driver.console_log(guest.uuid, max_bytes=100_000)
        return words in log.decode(errors="replace")


@pytest.fixture(scope="module")
def hosts(qemu_answers: Path) -> Iterator[tuple[Host, Host]]:
    """Both reach a shared directory, and the first one serves a pool to the second."""
    with tempfile.TemporaryDirectory(prefix="kn-") as directory, ExitStack() as stack:
        base, port = Path(directory), free_port()
        base.chmod(0o711)
        shared = Path(os.environ.get(SHARED_ENV, base / "shared"))
        shared.mkdir(mode=0o711, exist_ok=True)
        pool_begin(shared)
        served = {0: f"net=nbd:{base / 'served'}@127.0.0.1?port={port}", 1: f"net=nbd:@127.0.0.1?port={port}"}
        hosts = []
        for number in (0, 1):
            state = base / str(number)
            state.mkdir(mode=0o711)
            pools = host_pools([f"shared=shared-file:{shared}", served[number]], state_dir=state / "agent")
            answers_known(qemu_answers, state)
            options = HostOptions(guest_directories=pools.directories)
            driver = LibvirtDriver(f"qemu:///private?root={state / 'hv'}", state, f"node-{number}", options=options)
            stack.callback(daemons_end, state)
            driver.open()
            stack.callback(driver.close)
            hosts.append(Host(Hypervisor("qemu", driver, state), dict(pools.backends)))
        for host in hosts:
            served_here = host.pools["net"]
            assert isinstance(served_here, NbdBackend | NbdClient)
            stack.callback(served_here.end)
        assert [host.pools[name].report().problem for host in hosts for name in host.pools] == [""] * 4
        yield hosts[0], hosts[1]
        for host in hosts:
            for guest_uuid in host.hypervisor.made:
                host.hypervisor.driver.destroy(guest_uuid)


def blank(host: Host, pool: str) -> VolumeSpec:
    """A volume of 1 GiB, made on this host."""
    backend = host.pools[pool]
    volume = VolumeSpec(str(uuid.uuid4()), pool, PoolKind.NBD if pool == "net" else PoolKind.FILE, 1)
    facts = backend.create(
        volume, NO_SOURCE, image_file=Path, key_of=lambda _: b"", progress=lambda _done, _total: None
    )
    return replace(volume, location=facts.location)


def test_shared_volume_is_two_guests_at_once_where_both_say_so(hosts: tuple[Host, Host]) -> None:
    first, second = hosts
    alone, together = blank(first, "shared"), blank(first, "shared")
    guests = [host.hypervisor.build(host.hypervisor.guest()) for host in hosts]
    for host, guest in zip(hosts, guests, strict=True):
        host.attach(guest, host.connected(together, is_shared=True))
        assert host.hypervisor.driver.volumes_of_guests()[guest.uuid] == (together.id,)
    first.attach(guests[0], first.connected(alone))
    with pytest.raises(DriverError, match="lock"):
        second.attach(guests[1], second.connected(alone))


@pytest.mark.long
@pytest.mark.parametrize("pool", ["shared", "net"])
def test_volume_goes_from_a_guest_of_one_host_to_one_of_the_other_and_back(hosts: tuple[Host, Host], pool: str) -> None:
    volume = blank(hosts[0], pool)
    for host in (*hosts, hosts[0]):
        guest = host.hypervisor.build(host.hypervisor.guest())
        having = host.attach(guest, host.connected(volume))
        host.hypervisor.driver.hard_reboot(having)
        assert host.hypervisor.driver.volumes_of_guests()[guest.uuid] == (volume.id,)
        host.hypervisor.driver.destroy(guest.uuid)
        host.pools[pool].disconnect(volume)
    hosts[0].pools[pool].delete(volume)


# The console shows the script as well, so that what it says is not in it.
SCRIPT = """#!/bin/sh
(while true; do
  if [ -b /dev/vdb ]; then
    found=$(dd if=/dev/vdb bs=512 count=1 2>/dev/null | tr -d '\\0')
    echo "found <$found>"
    echo "NAME was here" | dd of=/dev/vdb bs=512 conv=sync,fsync 2>/dev/null && echo "wrote $((40 + 2))"
    break
  fi
  sleep 0.1; done) &
echo watching
"""


@pytest.mark.long
@pytest.mark.parametrize("pool", ["shared", "net"])
def test_what_linux_wrote_on_one_host_linux_reads_on_the_other(
    hosts: tuple[Host, Host], pool: str, tmp_path: Path
) -> None:
    content, volume = demo_image_build(tmp_path).read_bytes(), blank(hosts[0], pool)
    for host, name, expected in zip((*hosts, hosts[0]), ("one", "two", "three"), ("", "one", "two"), strict=True):
        guest = host.hypervisor.guest(
            content,
            memory_mib=MIN_RAM_MIB,
            image_disk_format="qcow2",
            user_data_base64=base64.b64encode(SCRIPT.replace("NAME", name).encode()).decode(),
        )
        host.hypervisor.build(guest, content)
        eventually(lambda at=host, of=guest: at.says(of, "watching"))
        having = host.attach(guest, host.connected(volume))
        eventually(lambda at=host, of=guest: at.says(of, "wrote 42"))
        assert host.says(guest, f"found <{expected} was here" if expected else "found <>")
        host.hypervisor.driver.detach_volume(having, volume.id, timeout_s=60)
        host.pools[pool].disconnect(volume)
        host.hypervisor.driver.destroy(guest.uuid)
    hosts[0].pools[pool].delete(volume)
