"""From what an operator wrote to the pools of a host."""

import os
import pwd
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from computeagent.protocol.volumes import PoolKind
from computeagent.volumes.base import VolumeBackend, VolumeBackendError
from computeagent.volumes.file.backend import FileBackend
from computeagent.volumes.file.directory import DIRECTORY_MODE, PoolDirectory
from computeagent.volumes.memory import MemoryBackend
from computeagent.volumes.nbd.backend import NbdBackend
from computeagent.volumes.nbd.client import NbdClient
from computeagent.volumes.nbd.daemon import NbdAddress
from computeagent.volumes.pool_specs import FIELD, PoolSpec, pool_specs
from computeagent.volumes.rbd.backend import RbdBackend
from computeagent.volumes.rbd.place import RbdPlace
from controlplane.kernel.errors import Invalid


@dataclass(frozen=True, slots=True)
class HostPools:
    """The backends of a host by the names of their pools, and the directories that its guests' QEMU has to reach."""

    backends: Mapping[str, VolumeBackend] = field(default_factory=dict)
    directories: tuple[Path, ...] = ()


def host_pools(texts: Sequence[str], *, state_dir: Path, is_simulated: bool = False) -> HostPools:
    """The pools that these texts name; what the agent remembers of them is in `state_dir`. Guests that are simulated
    have volumes that are, in pools of the same names.

    Raises Invalid for what cannot be understood. A pool that is not there now says so in its report.
    """
    specs, backends = pool_specs(texts), {}
    for spec in specs:
        make = MAKERS.get(spec.kind)
        if make is None:
            raise Invalid(
                f"Pool {spec.name}: {spec.kind[:40]!r} is no kind of pool; there are {', '.join(sorted(MAKERS))}.",
                field=FIELD,
            )
        backends[spec.name] = (_simulated if is_simulated else make)(spec, state_dir)
    directories = tuple(_guest_directory(spec, state_dir) for spec in specs if spec.kind != "rbd")
    return HostPools(backends, directories)


def _file(spec: PoolSpec, state_dir: Path) -> VolumeBackend:
    spec.only("size_gib")
    return FileBackend(
        spec.name, _own_directory(spec, spec.place, state_dir), is_shared=False, limit_gib=spec.whole_number("size_gib")
    )


def _shared_file(spec: PoolSpec, _state_dir: Path) -> VolumeBackend:
    spec.only("size_gib")
    directory = PoolDirectory(_path(spec, spec.place), None)
    return FileBackend(spec.name, directory, is_shared=True, limit_gib=spec.whole_number("size_gib"))


def _nbd(spec: PoolSpec, state_dir: Path) -> VolumeBackend:
    """The host that stores the pool names a directory before the address, and the others do not."""
    place, at, host = spec.place.rpartition("@")
    host = host.strip("[]")
    if not at or not host:
        raise spec.wrong("its place is DIRECTORY@ADDRESS, or @ADDRESS where another host stores it")
    port = spec.whole_number("port", NBD_PORT)
    tls = _path(spec, spec.options["tls"]) if "tls" in spec.options else None
    spec.only("port", "tls", "user", *(["size_gib"] if place else []))
    network = NbdAddress(host=host, port=port, tls_directory=tls, account=_account(spec))
    if not place:
        return NbdClient(spec.name, network, _client_directory(spec, state_dir))
    directory = _own_directory(spec, place, state_dir)
    return NbdBackend(spec.name, directory, network, limit_gib=spec.whole_number("size_gib"))


def _client_directory(spec: PoolSpec, state_dir: Path) -> Path:
    directory = state_dir / "pools" / f"{spec.name}.nbd"
    with suppress(OSError):  # it is there from now on, as that of `_own_directory`
        directory.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    return directory


def _guest_directory(spec: PoolSpec, state_dir: Path) -> Path:
    """Where files and sockets are that guests open."""
    place = spec.place.rpartition("@")[0] if spec.kind == "nbd" else spec.place
    return Path(place) if place else _client_directory(spec, state_dir)


def _rbd(spec: PoolSpec, _state_dir: Path) -> VolumeBackend:
    spec.only("conf", "user")
    conf = _path(spec, spec.options.get("conf", "/etc/ceph/ceph.conf"))
    return RbdBackend(spec.name, RbdPlace(spec.place, conf=conf, user=spec.options.get("user", "kilonova")))


def _simulated(spec: PoolSpec, state_dir: Path) -> VolumeBackend:
    """Volumes in memory; a shared directory's are in one file for all who have it."""
    path = _path(spec, spec.place) if spec.kind in ("file", "shared-file") else state_dir / "pools"
    return MemoryBackend(
        spec.name,
        path / f"{spec.name}.json",
        is_shared=spec.kind != "file",
        kind=KINDS[spec.kind],
        total_gib=spec.whole_number("size_gib") or SIMULATED_GIB,
    )


def _own_directory(spec: PoolSpec, place: str, state_dir: Path) -> PoolDirectory:
    directory = PoolDirectory(_path(spec, place), state_dir / "pools" / spec.name)
    # It is there from now on, so that a hypervisor of this agent's own can see it. What is wrong its report says.
    with suppress(VolumeBackendError):
        directory.identity()
    return directory


def _path(spec: PoolSpec, text: str) -> Path:
    path = Path(text)
    if not path.is_absolute() or ".." in path.parts:
        raise spec.wrong(f"its directory must be a whole path, and is {text[:80]!r}")
    return path


def _account(spec: PoolSpec) -> tuple[str, int, int] | None:
    """As whom files are served: as the user that QEMU runs as, who can connect to the socket; None: as this process."""
    name = spec.options.get("user", QEMU_USER)
    if name == "root" or (os.geteuid() != 0 and "user" not in spec.options):
        return None
    try:
        user = pwd.getpwnam(name)
    except KeyError as error:
        raise spec.wrong(f"there is no user {name[:40]!r} to serve its files as; user= names another one") from error
    return (user.pw_name, user.pw_uid, user.pw_gid) if os.geteuid() == 0 else None


MAKERS: Mapping[str, Callable[[PoolSpec, Path], VolumeBackend]] = {
    "file": _file,
    "shared-file": _shared_file,
    "nbd": _nbd,
    "rbd": _rbd,
}
KINDS = {"file": PoolKind.FILE, "shared-file": PoolKind.FILE, "nbd": PoolKind.NBD, "rbd": PoolKind.RBD}
SIMULATED_GIB = 1000
NBD_PORT = 10809
QEMU_USER = "libvirt-qemu"
