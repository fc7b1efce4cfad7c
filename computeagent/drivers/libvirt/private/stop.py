"""The end of a private libvirtd, when a person asks for it: of its guests first, unless they shall go on."""

import signal
from dataclasses import dataclass
from pathlib import Path

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.binding import LibvirtError, error_text
from computeagent.drivers.libvirt.connection import Connection
from computeagent.drivers.libvirt.private.daemon import PrivateDaemon
from computeagent.drivers.libvirt.private.layout import Layout, layout_of
from computeagent.drivers.libvirt.private.probe import process_end
from computeagent.drivers.libvirt.shutting_down import domains_stop
from controlplane.kernel.file_locks import lock_holder

END_S = 15.0


@dataclass(frozen=True, slots=True)
class Stopped:
    """What was ended. `guests_left` run on, and are found by the next daemon."""

    guests: int = 0
    guests_left: int = 0
    had_daemon: bool = False


def private_daemon_stop(root: Path, *, cache: Path, grace_s: float, keep_guests: bool) -> Stopped:
    """Ask the guests to power off, pull their plugs after `grace_s` seconds, and end the libvirtd below `root`.

    Nothing there is a success. Raises DriverError: an agent uses it, or it does not end.
    """
    try:
        layout = layout_of(root, cache=cache)
        noted = len(list(layout.running_domains.glob("*.xml"))) if layout.running_domains.is_dir() else 0
        if not noted and lock_holder(layout.pid_file) is None:
            return Stopped()
    except OSError as error:
        raise DriverError(f"the libvirtd of {root} cannot be looked at: {error}") from error
    daemon = PrivateDaemon(root, cache=cache)
    daemon.prepare()
    try:
        guests = 0 if keep_guests or not noted else _guests_stop(daemon, grace_s)
        return Stopped(guests, noted if keep_guests else 0, _end(layout))
    finally:
        daemon.release()


def _guests_stop(daemon: PrivateDaemon, grace_s: float) -> int:
    connection = Connection(daemon.layout.uri, before_connect=daemon.ensure_running)
    connection.open()
    try:
        domains = [domain for domain in connection.handle().listAllDomains(0) if domain.isActive()]
        domains_stop(domains, grace_s=grace_s)
    except LibvirtError as error:
        raise DriverError(f"stopping the guests of {daemon.layout.root}: {error_text(error)}") from error
    finally:
        connection.close()
    return len(domains)


def _end(layout: Layout) -> bool:
    pid = lock_holder(layout.pid_file)
    if pid is None:
        return False
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process_end(pid, number, pid_file=layout.pid_file, limit_s=END_S):
            return True
    raise DriverError(f"the libvirtd of {layout.root} (process {pid}) does not end")
