"""A real Ceph cluster of one monitor, one manager and one OSD, in a directory and on ports of its own, with one pool.

It takes some 460 MB of memory and 13 s to come up, so all tests of a process share one. Its daemons end with the test
process, however that ends; its data is one sparse file.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from computeagent.volumes.rbd import RbdPlace
from tests.fixtures.patience import PATIENCE_S
from tests.fixtures.servers import free_port

NEEDED = {
    "ceph-mon": "ceph-mon", "ceph-mgr": "ceph-mgr", "ceph-osd": "ceph-osd", "ceph": "ceph-common", "rbd": "ceph-common"
}  # fmt: skip
POOL, USER = "volumes", "kilonova"
CONFIG = """\
[global]
fsid = {fsid}
mon_host = {monitor}
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
osd_pool_default_size = 1
osd_pool_default_min_size = 1
mon_allow_pool_size_one = true
osd_crush_chooseleaf_type = 0
osd_memory_target = 939524096
bluestore_block_size = 8589934592
mon_data = {here}/mon
mgr_data = {here}/mgr
osd_data = {here}/osd
run_dir = {here}
log_file = {here}/$name.log
pid_file = {here}/$name.pid
admin_socket = {here}/$name.asok
keyring = {here}/$name.keyring
"""


def missing_for_ceph() -> str:
    """Why no Ceph can be started here; empty when it can."""
    absent = sorted({package for program, package in NEEDED.items() if shutil.which(program) is None})
    return f"not installed: {', '.join(absent)}" if absent else ""


class Ceph:
    """The cluster. `conf` is its configuration, for its administrator and for the user of `POOL`."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.conf = directory, directory / "ceph.conf"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.names: dict[str, str] = {}

    def place(self, *, osd_s: int = 20) -> RbdPlace:
        """The pool as an agent has it, by a user with the rights that the documentation says."""
        return RbdPlace(POOL, self.conf, USER, osd_s=osd_s)

    def run(self, *command: str, given: str = "") -> str:
        """A program of Ceph's as the administrator; its output."""
        tool, *arguments = command
        done = subprocess.run(
            [tool, "-c", str(self.conf), *arguments],
            input=given, capture_output=True, text=True, check=False, timeout=PATIENCE_S, cwd=self.directory,
        )  # fmt: skip
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
        return done.stdout.strip()

    def start(self) -> None:
        """From nothing to a pool that takes volumes."""
        here, fsid = self.directory, str(uuid4())
        monitor = f"[v2:127.0.0.1:{free_port()},v1:127.0.0.1:{free_port()}]"
        self.conf.write_text(CONFIG.format(fsid=fsid, monitor=monitor, here=here))
        for name in ("mon", "mgr", "osd"):
            (here / name).mkdir()
        admin = ("--cap", "mon", "allow *", "--cap", "osd", "allow *", "--cap", "mgr", "allow *")
        self.run("ceph-authtool", "-C", "mon.keyring", "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
        self.run("ceph-authtool", "-C", "client.admin.keyring", "--gen-key", "-n", "client.admin", *admin)
        self.run("ceph-authtool", "mon.keyring", "--import-keyring", "client.admin.keyring")
        self.run("monmaptool", "--create", "--addv", "a", monitor, "--fsid", fsid, "monmap")
        self.run("ceph-mon", "--mkfs", "-i", "a", "--monmap", "monmap", "--keyring", "mon.keyring")
        shutil.copy(here / "mon.keyring", here / "mon.a.keyring")  # without it a restarted monitor knows no keys
        self.daemon("ceph-mon", "a")
        manager = ("mon", "allow profile mgr", "osd", "allow *", "mds", "allow *")
        keyring = self.run("ceph", "--connect-timeout", "20", "auth", "get-or-create", "mgr.x", *manager)
        (here / "mgr.x.keyring").write_text(keyring + "\n")
        self.daemon("ceph-mgr", "x")
        osd, key = str(uuid4()), self.run("ceph-authtool", "--gen-print-key")
        self.run("ceph", "osd", "new", osd, "-i", "-", given=json.dumps({"cephx_secret": key}))
        self.run("ceph-authtool", "-C", "osd.0.keyring", "-n", "osd.0", "--add-key", key)
        self.run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd)
        self.daemon("ceph-osd", "0")
        self.run("ceph", "osd", "pool", "create", POOL, "16")
        self.run("rbd", "pool", "init", POOL)
        rights = ("mon", "profile rbd", "osd", f"profile rbd pool={POOL}", "mgr", f"profile rbd pool={POOL}")
        keyring = self.run("ceph", "auth", "get-or-create", f"client.{USER}", *rights)
        (here / f"client.{USER}.keyring").write_text(keyring + "\n")

    def daemon(self, program: str, name: str) -> None:
        """One that ends with this process."""
        self.names[program] = name
        log = (self.directory / f"{program}.out").open("ab")
        self.processes[program] = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", program, "-f", "-c", str(self.conf), "-i", name],
            stdout=log, stderr=log, cwd=self.directory, start_new_session=True,
        )  # fmt: skip
        log.close()

    @contextmanager
    def silent(self, program: str) -> Iterator[None]:
        """The daemon answers nobody, as a host without power. Afterwards it is started anew, and answers: one
        that goes on after a long sleep can be at odds with the others for minutes.
        """
        process = self.processes[program]
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.kill()
            process.wait(timeout=PATIENCE_S)
            self.daemon(program, self.names[program])
            self.run("rados", "-p", POOL, "ls")

    def remains(self, *, within_s: float = 20.0) -> list[str]:
        """All objects of the pool but those that every pool has. Ceph removes those of snapshots a while afterwards."""
        deadline, found = time.monotonic() + within_s, {""}
        while found and time.monotonic() < deadline:
            found = set(self.run("rados", "-p", POOL, "ls").split())
            found -= {"rbd_directory", "rbd_info", "rbd_trash", "rbd_children"}
        return sorted(found)

    def close(self) -> None:
        """End all. Nothing is kept."""
        for process in self.processes.values():
            os.kill(process.pid, signal.SIGKILL)
            process.wait(timeout=PATIENCE_S)
        self.processes.clear()


@contextmanager
def ceph_cluster() -> Iterator[Ceph]:
    """One that is up."""
    directory = Path(tempfile.mkdtemp(prefix="ceph-"))
    ceph = Ceph(directory)
    began = time.monotonic()
    try:
        ceph.start()
        print(f"Ceph is up after {time.monotonic() - began:.1f} s")
        yield ceph
    finally:
        ceph.close()
        shutil.rmtree(directory, ignore_errors=True)
