"""The end of an installation on one machine, with what outlives `manage.py up`: guests, and their libvirt daemons."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.private.stop import private_daemon_stop
from computeagent.networks.base import NetworkError
from computeagent.networks.places.machine import MachineNetworks
from controlplane.kernel.errors import Unavailable
from controlplane.launcher.announcer import Announcer
from controlplane.launcher.hypervisors import image_cache_of, networks_of, private_roots
from controlplane.launcher.state_lock import StateInUse, StateLock
from controlplane.work.conf import work_options

UP_ENDS_S = 22.0
"""Beyond what its processes have to end in."""
POLL_S = 0.2


def up_limit_s() -> float:
    """How long `manage.py up` may take to end, by the settings that it ends its processes by."""
    return work_options().stop_limit_s + UP_ENDS_S


def down_run(
    state_dir: Path, announcer: Announcer, *, grace_s: float, keep_guests: bool, up_ends_in_s: float | None = None
) -> None:
    """End `manage.py up` if it runs, within `up_limit_s` where nothing else is said, then each hypervisor. What cannot
    be ended is named, and keeps nothing else from its end. Raises Unavailable then, StateInUse where `up` goes on.
    """
    _up_stop(state_dir, announcer, limit_s=up_limit_s() if up_ends_in_s is None else up_ends_in_s)
    with StateLock(state_dir):
        failed = 0
        for root in private_roots(state_dir):
            try:
                done = private_daemon_stop(
                    root, cache=image_cache_of(state_dir) / "libvirt", grace_s=grace_s, keep_guests=keep_guests
                )
            except DriverError as error:
                failed += 1
                announcer.warn(error.message)
                continue
            if done.had_daemon or done.guests:
                left = f", {done.guests_left} guests go on" if done.guests_left else ""
                announcer.line(f"hypervisor {root.parent.name}: {done.guests} guests stopped, its libvirtd ended{left}")
        if not failed and not keep_guests:
            _networks_remove(state_dir, announcer)
    if failed:
        raise Unavailable(f"{failed} of the hypervisors could not be stopped")
    announcer.line("Nothing of it runs any more." if not keep_guests else "Nothing of it runs any more but guests.")


def _networks_remove(state_dir: Path, announcer: Announcer) -> None:
    """Namespaces, interfaces and rules of this installation. Raises Unavailable."""
    try:
        if MachineNetworks(networks_of(state_dir)).remove():
            announcer.line("networks of the hypervisors are removed")
    except NetworkError as error:
        raise Unavailable(f"the networks of the hypervisors could not be removed: {error}") from error


def _up_stop(state_dir: Path, announcer: Announcer, *, limit_s: float) -> None:
    """Whoever holds the state directory is asked to end, as by Ctrl-C."""
    end = time.monotonic() + limit_s
    asked = ""
    while True:
        try:
            with StateLock(state_dir):
                return
        except StateInUse as error:
            holder = str(error.extra["pid"])
            if time.monotonic() > end:
                raise
            # One that has just begun, or is about to end, holds the directory without its number in the file.
            if holder.isdecimal() and holder != asked:
                asked = holder
                announcer.line(f"manage.py up (process {holder}) is asked to stop")
                with suppress(ProcessLookupError):
                    os.kill(int(holder), signal.SIGTERM)
            time.sleep(POLL_S)
