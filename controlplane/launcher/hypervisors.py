"""The hypervisors of one machine: where each keeps its things, and which part of the machine it may give away."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from computeagent.drivers.libvirt.private.daemon import is_private, private_daemon_impossible
from computeagent.drivers.libvirt.simulated_host import simulated_host_write
from computeagent.protocol.wire import secret_digest
from computeagent.transport.secret_file import SecretFile
from controlplane.kernel.state_parts import StatePart
from controlplane.launcher.options import HypervisorKind
from controlplane.launcher.pools import PART_OF_DISK, pools_prepare
from servers.agent_api.credentials import own_agent_admit

SIMULATED_VCPUS = 16
SIMULATED_MEMORY_MIB = 65536
RESERVED_MEMORY_MIB = 1024  # for the machine itself and the control plane
MIN_MEMORY_MIB = 512
DAEMON_DIRECTORY = "libvirtd"
MIB = 1024 * 1024
GIB = 1024 * MIB


@dataclass(frozen=True, slots=True)
class HostShare:
    """What one of several hypervisors on a machine reports as its own."""

    vcpus: int
    memory_mib: int
    disk_gib: int


@dataclass(frozen=True, slots=True)
class Hypervisor:
    """One agent's hypervisor. `share` None means that it reports what it finds; the image cache is shared.
    `network_directory` keeps the networks that it has in a namespace of its own; None: it carries none. `pools`: of
    volumes, as the agent's option has them.
    """

    host: str
    uri: str
    state_dir: Path
    image_cache: Path
    share: HostShare | None = None
    network_directory: Path | None = None
    pools: tuple[str, ...] = ()


def hypervisors_prepare(
    kind: HypervisorKind, *, count: int, state_dir: Path, has_networks: bool = False
) -> list[Hypervisor]:
    """`count` hypervisors named hv-1, hv-2, ... with their directories under `state_dir`/hv."""
    base = state_dir / StatePart.HYPERVISORS
    base.mkdir(parents=True, exist_ok=True)
    return [_prepare(kind, number, base, count, has_networks) for number in range(1, count + 1)]


def network_carriers(state_dir: Path, *, count: int) -> list[str]:
    """Which of `count` real hypervisors can have networks: those that have a libvirtd of their own, or are to get one.
    An embedded one carries none (`computeagent.networks.places.place`).
    """
    base = state_dir / StatePart.HYPERVISORS
    return [_host(number) for number in range(1, count + 1) if is_private(_real_uri(base / str(number)))]


def _host(number: int) -> str:
    return f"hv-{number}"


def _prepare(kind: HypervisorKind, number: int, base: Path, count: int, has_networks: bool) -> Hypervisor:
    host = _host(number)
    uri, share = f"fake:///{host}", None
    if kind is HypervisorKind.QEMU:
        uri, share = _real_uri(base / str(number)), machine_share(count, disk_of=base)
    elif kind is HypervisorKind.TEST:
        uri = simulated_host_write(base / f"{number}.xml", vcpus=SIMULATED_VCPUS, memory_mib=SIMULATED_MEMORY_MIB)
    state_dir, cache = base.parent / StatePart.AGENTS / host, image_cache_of(base.parent)
    networks = networks_of(base.parent) if has_networks and is_private(uri) else None
    return Hypervisor(
        host=host,
        uri=uri,
        state_dir=state_dir,
        image_cache=cache,
        share=share,
        network_directory=networks,
        pools=pools_prepare(base.parent, host=host, count=count),
    )


def networks_of(state_dir: Path) -> Path:
    """What the hypervisors of one machine share of networks."""
    return state_dir / StatePart.NETWORKS


def image_cache_of(state_dir: Path) -> Path:
    """What the hypervisors of one machine share: base images, and what was learnt of its QEMU."""
    return state_dir / StatePart.CACHE / "hypervisors"


def private_roots(state_dir: Path) -> list[Path]:
    """The directories of private libvirt daemons that were ever prepared here."""
    return sorted((state_dir / StatePart.HYPERVISORS).glob(f"*/{DAEMON_DIRECTORY}"))


def _real_uri(base: Path) -> str:
    """A libvirtd of its own, or libvirt inside the agent where there is none. What was begun with the one stays with
    it while it has guests: the other does not know them.
    """
    is_embedded = any((base / "etc" / "qemu").glob("*.xml")) and not (base / DAEMON_DIRECTORY).exists()
    if is_embedded or private_daemon_impossible():
        return f"qemu:///embed?root={base}"
    return f"qemu:///private?root={base / DAEMON_DIRECTORY}"


def hypervisor_enrol(hypervisor: Hypervisor) -> None:
    """Its agent's secret is known to the control plane: made at the first start, and again for another database.

    Raises Forbidden where an admin locked the agent out or removed the host, and did not let it in since.
    """
    secret = SecretFile(hypervisor.state_dir)
    if secret.read() is None:
        secret.take(secret.next_secret())
    own_agent_admit(host=hypervisor.host, secret_digest=secret_digest(str(secret.read())))


def machine_share(count: int, *, disk_of: Path) -> HostShare:
    """This machine divided by `count`, so that its memory and disk are not promised twice.

    vCPUs share time and are not divided. Half of the disk is for pools of volumes.
    """
    memory_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MIB
    disk_gib = shutil.disk_usage(disk_of).free * (PART_OF_DISK - 2) // PART_OF_DISK // GIB
    return HostShare(
        vcpus=os.cpu_count() or 1,
        memory_mib=max((memory_mib - RESERVED_MEMORY_MIB) // count, MIN_MEMORY_MIB),
        disk_gib=max(disk_gib // count, 1),
    )
