"""A libvirtd that dies and comes back: events are heard again, and those in between are known to be lost."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.connection import Connection
from tests.fixtures.patience import eventually
from tests.fixtures.sockets import accepts

pytestmark = [
    pytest.mark.libvirt,
    pytest.mark.processes,
    pytest.mark.skipif(
        os.geteuid() != 0 or not shutil.which("libvirtd") or not shutil.which("unshare"),
        reason="a libvirtd with directories of its own needs a mount namespace, and the rights of root for it",
    ),
]

CONF = """
host_uuid = "5b5cbd30-7d11-4f39-9a8b-7a9d3f6d6c01"
unix_sock_rw_perms = "0700"
auth_unix_rw = "none"
log_outputs = "4:file:/dev/null"
"""
ITS_OWN = """
for pair in run:/run/libvirt etc:/etc/libvirt lib:/var/lib/libvirt cache:/var/cache/libvirt log:/var/log/libvirt; do
    mkdir -p "$0/${pair%%:*}" "${pair#*:}" && mount --bind "$0/${pair%%:*}" "${pair#*:}" || exit 1
done
exec libvirtd --config "$0/libvirtd.conf" --pid-file "$0/libvirtd.pid"
"""


class Daemon:
    """A private libvirtd, of which the simulated hypervisor is asked for: it needs no time to look at QEMU."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._socket = directory / "run" / "libvirt-sock"
        self.uri = f"test+unix:///default?socket={self._socket}"
        (directory / "libvirtd.conf").write_text(CONF)
        self.start()

    def start(self) -> None:
        """Start it and wait for its socket."""
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ITS_OWN, str(self._directory)]
        self._process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
        eventually(lambda: accepts(self._socket) or self._process.poll() is not None)
        if self._process.poll() is not None:
            pytest.skip("libvirtd does not start in a mount namespace of its own here")

    def kill(self) -> None:
        """As a crash does."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._socket.unlink(missing_ok=True)


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    with tempfile.TemporaryDirectory(prefix="kn-") as directory:  # a short path, for its sockets
        daemon = Daemon(Path(directory))
        yield daemon
        daemon.kill()


def test_events_are_heard_again_after_libvirtd_was_killed(daemon: Daemon) -> None:
    connection = Connection(daemon.uri)
    connection.open()
    heard: list[str | None] = []
    connection.watch(heard.append)
    domain = connection.handle().lookupByName("test")
    domain.suspend()
    eventually(lambda: heard == [domain.UUIDString()])

    daemon.kill()
    eventually(lambda: heard[1:] == [None])  # before anybody asks for something
    with pytest.raises(DriverError, match="cannot connect"):
        connection.handle()
    daemon.start()

    domain = connection.handle().lookupByName("test")
    assert heard[2:] == [None]
    domain.suspend()
    eventually(lambda: heard[3:] == [domain.UUIDString()])
    connection.close()
