"""Where a Ceph pool is, and its programs with a limit of time.

Ceph's own programs are asked, not its Python binding: the binding is compiled for Debian's interpreter alone and is on
no package index, and a call of it that hangs in a dead cluster hangs its thread for good.
"""

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from computeagent.volumes.base import VolumeBackendError
from computeagent.volumes.programs import ProgramFailed, run

CONNECT_S = 10
"""Until the cluster's monitors count as not answering."""
OSD_S = 60
"""Of one operation on an object: a cluster that recovers from a lost disk may need that long."""
LIMIT_S = 120.0
"""Of one short command as a whole."""
MONITORS_S = 300.0
"""For so long a list of monitors is believed: clusters change it rarely, and clients ask any of it."""
ENOENT, EBUSY, EEXIST, ENOTEMPTY = 2, 16, 17, 39
_PLAIN = re.compile(r"[A-Za-z0-9_./-]+")
"""What stands in the name that QEMU is given without being taken for a part of its grammar."""


@dataclass
class RbdPlace:
    """A pool, and the user who may use it, by a cluster's configuration file as Ceph's own programs read it."""

    pool: str
    conf: Path = Path("/etc/ceph/ceph.conf")
    user: str = "kilonova"
    osd_s: int = OSD_S
    _monitors: tuple[str, ...] = ()
    _monitors_until: float = 0.0
    _fsid: str = ""
    _as_user: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._as_user = ("-c", str(self.conf), "--id", self.user)

    @property
    def problem(self) -> str:
        """Why names or paths cannot be used; empty when they can."""
        wrong = [text for text in (self.pool, str(self.conf), self.user) if not _PLAIN.fullmatch(text)]
        wrong += [self.pool] if "/" in self.pool else []
        return f"{wrong[0]!r} has characters that QEMU cannot be given" if wrong else ""

    def command(self, *arguments: str) -> list[str]:
        """`rbd` as this user, whose every operation ends in time."""
        limits = f"--client-mount-timeout={CONNECT_S} --rados-mon-op-timeout={CONNECT_S}".split()
        return ["rbd", *self._as_user, *limits, f"--rados-osd-op-timeout={self.osd_s}", *arguments]

    def rbd(self, *arguments: str, passed: Sequence[int] = ()) -> bool:
        """Run it; False when it ends with one of these statuses. Raises VolumeBackendError."""
        try:
            run(self.command(*arguments), limit_s=LIMIT_S)
        except ProgramFailed as error:
            if error.status not in passed:
                raise
            return False
        return True

    def rbd_json(self, *arguments: str, passed: Sequence[int] = (), limit_s: float = LIMIT_S) -> Any:
        """What it answers; None when it ends with one of these statuses. Raises VolumeBackendError."""
        try:
            answer = run(self.command(*arguments, "--format", "json"), limit_s=limit_s).strip()
            return json.loads(answer) if answer else None
        except ProgramFailed as error:
            if error.status not in passed:
                raise
            return None

    def ceph_json(self, *arguments: str) -> Any:
        """What the cluster's monitors answer. Raises VolumeBackendError."""
        command = ["ceph", *self._as_user, "--connect-timeout", str(CONNECT_S), *arguments, "--format", "json"]
        return json.loads(run(command, limit_s=3 * CONNECT_S))

    def image(self, name: str, snapshot: str = "") -> str:
        """As Ceph's programs and libvirt are told it."""
        return f"{self.pool}/{name}" + (f"@{snapshot}" if snapshot else "")

    def qemu_name(self, name: str, snapshot: str = "") -> str:
        """As QEMU's programs are told it, with limits of time: they would wait for ever."""
        limits = f"client_mount_timeout={CONNECT_S}:rados_mon_op_timeout={CONNECT_S}:rados_osd_op_timeout={self.osd_s}"
        return f"rbd:{self.image(name, snapshot)}:id={self.user}:conf={self.conf}:{limits}"

    def fsid(self) -> str:
        """The cluster's own id."""
        if not self._fsid:
            self._fsid = str(self.ceph_json("fsid")["fsid"])
        return self._fsid

    def monitors(self) -> tuple[str, ...]:
        """Addresses and ports of the cluster's monitors as it says them now, by the older wire protocol where a monitor
        speaks it: it is the one whose ports need no word of the protocol beside.
        """
        if time.monotonic() >= self._monitors_until:
            self._monitors = tuple(_address(monitor) for monitor in self.ceph_json("mon", "dump")["mons"])
            self._monitors_until = time.monotonic() + MONITORS_S
        return self._monitors

    @cached_property
    def user_key(self) -> str:
        """The user's key out of his keyring, wherever the configuration has that. Raises VolumeBackendError."""
        name = f"client.{self.user}"
        asked = ["ceph-conf", "-c", str(self.conf), "--name", name, "--show-config-value", "keyring"]
        for path in run(asked, limit_s=LIMIT_S).strip().split(","):
            if Path(path).is_file():
                asked = ["ceph-authtool", path, "--name", name, "--print-key"]
                return run(asked, limit_s=LIMIT_S).strip()
        raise VolumeBackendError(f"there is no keyring of Ceph's user {self.user} on this host")


def _address(monitor: dict[str, Any]) -> str:
    addresses = {one["type"]: str(one["addr"]) for one in monitor["public_addrs"]["addrvec"]}
    return addresses.get("v1") or next(iter(addresses.values()))
