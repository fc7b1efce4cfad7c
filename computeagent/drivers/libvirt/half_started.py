"""Guests whose start was cut off by the death of the process that started them.

libvirt notes a domain as paused, "starting up", before QEMU answers. When the process dies there, QEMU dies of the
broken handshake, but whoever opens the hypervisor next takes the domain for active until it has waited 30 seconds
for a monitor that nobody serves. Until then it holds the domain's job lock, and "active" is not true.
"""

import fcntl
import logging
import os
import signal
import time
import xml.etree.ElementTree as ET
from contextlib import suppress
from pathlib import Path
from typing import Any

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.binding import LibvirtError, is_no_domain, libvirt

# libvirt gives the monitor 30 s, and more to guests with much memory.
SETTLE_S = 90.0
POLL_S = 0.2

log = logging.getLogger(__name__)


def is_half_started(domain: Any) -> bool:
    """Whether the domain counts as active without having been started to the end."""
    state, reason = domain.state()
    return (state, reason) == (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_STARTING_UP)


def settle(domain: Any, *, limit_s: float = SETTLE_S) -> None:
    """Wait until libvirt knows what a half-started domain is. Raises DriverError when it does not in time.

    Verbs on one guest are called by one at a time, so a domain that is starting now is starting for nobody.
    """
    deadline = time.monotonic() + limit_s
    try:
        while is_half_started(domain):
            if time.monotonic() > deadline:
                raise DriverError(f"the hypervisor is starting {domain.name()} for more than {limit_s:.0f} s")
            time.sleep(POLL_S)
    except LibvirtError as error:
        if not is_no_domain(error):
            raise


def half_started_forget(run_directory: Path) -> list[str]:
    """Before a private hypervisor is opened: forget half-started domains, which stay defined and are off.

    Only for a private hypervisor, whose notes in `run_directory` are nobody's but ours; nothing is done while another
    process has it open. A QEMU that came up after all is killed, since nothing would ever tell it to run. Returns the
    names of the domains.
    """
    if _is_open_elsewhere(run_directory / "driver.pid"):
        return []
    found = [path for path in sorted(run_directory.glob("*.xml")) if _notes_half_start(path)]
    for path in found:
        _kill(path.with_suffix(".pid"), path.stem)
        path.unlink(missing_ok=True)
        log.warning("the start of domain %s was cut off; it counts as off", path.stem)
    return [path.stem for path in found]


def _is_open_elsewhere(lock_file: Path) -> bool:
    """libvirt holds a POSIX lock on this file for as long as the hypervisor is open."""
    try:
        with lock_file.open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _notes_half_start(path: Path) -> bool:
    try:
        root = ET.parse(path).getroot()  # noqa: S314 - libvirt's own note, in a directory that is ours alone
    except (ET.ParseError, OSError):
        return False
    return root.tag == "domstatus" and (root.get("state"), root.get("reason")) == ("paused", "starting up")


def _kill(pid_file: Path, domain_name: str) -> None:
    """End the QEMU of this domain if it is there; the number alone proves nothing, its command line does."""
    with suppress(OSError, ValueError):
        pid = int(pid_file.read_text())
        if f"guest={domain_name},".encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
    pid_file.unlink(missing_ok=True)
