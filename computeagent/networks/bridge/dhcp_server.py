"""dnsmasq in a namespace: started, told of changes, ended. It outlives the agent, and is found again by its pid file.

A process is the one of the pid file only if its command line names our configuration, so that no other is ever ended.
"""

import os
import pwd
import shutil
import signal
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from computeagent.networks.base import NetworkError
from computeagent.networks.bridge.commands import Commands
from computeagent.networks.bridge.dhcp_files import CONFIGURATION_FILE, HOSTS_FILE, LEASES_FILE, PID_FILE
from computeagent.networks.bridge.plan import DhcpFiles
from controlplane.kernel.kill_points import reach

ACCOUNT = "dnsmasq"
END_S = 5.0
POLL_S = 0.01


def dhcp_ensure(commands: Commands, directory: Path, files: DhcpFiles) -> None:
    """Have it running with these files. Raises NetworkError."""
    directory.mkdir(mode=0o755, parents=True, exist_ok=True)
    configuration, hosts = directory / CONFIGURATION_FILE, directory / HOSTS_FILE
    pid = running(directory)
    owners_before = _owners(_read(hosts))
    is_same = _read(configuration) == files.configuration
    if pid is not None and is_same and _read(hosts) == files.hosts:
        return
    _write(configuration, files.configuration)
    _write(hosts, files.hosts)
    reach("computeagent.networks.bridge.dhcp_server:written")
    moved = {address for address, mac in files.address_owners.items() if owners_before.get(address) != mac}
    is_taken = bool(moved & _leased(directory / LEASES_FILE))
    if pid is not None and is_same and not is_taken:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGHUP)
        return
    dhcp_end(directory)
    reach("computeagent.networks.bridge.dhcp_server:ended")
    # It would not give an address that it still has a lease of to the port that has it now.
    _forget(directory / LEASES_FILE, files.address_owners, moved)
    commands.run(("dnsmasq", f"--conf-file={configuration}", *_account(directory)))
    reach("computeagent.networks.bridge.dhcp_server:started")


def dhcp_remove(directory: Path) -> None:
    """End it, and remove its files. Raises NetworkError where it does not end."""
    dhcp_end(directory)
    shutil.rmtree(directory, ignore_errors=True)


def dhcp_end(directory: Path) -> None:
    """End it, if it runs. Raises NetworkError."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        pid = running(directory)
        if pid is None:
            return
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        end = time.monotonic() + END_S
        while running(directory) is not None and time.monotonic() < end:
            time.sleep(POLL_S)
    if running(directory) is not None:
        raise NetworkError(f"the DHCP server of {directory} does not end")


def running(directory: Path) -> int | None:
    """The process, if it runs."""
    try:
        pid = int((directory / PID_FILE).read_text())
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    return pid if f"--conf-file={directory / CONFIGURATION_FILE}".encode() in words else None


def _owners(hosts: str) -> dict[str, str]:
    """Addresses of a hosts file, and whose each is (MAC)."""
    found = {}
    for line in hosts.splitlines():
        mac, *others = line.split(",")
        found.update({other.strip("[]"): mac for other in others})
    return found


def _leased(leases: Path) -> set[str]:
    return {words[2] for line in _read(leases).splitlines() if len(words := line.split()) >= 4}


def _forget(leases: Path, owners: Mapping[str, str], moved: set[str]) -> None:
    """Leases of addresses that are another port's now, or nobody's."""
    lines = [line.split() for line in _read(leases).splitlines()]
    remaining = [words for words in lines if len(words) < 4 or (words[2] in owners and words[2] not in moved)]
    if len(remaining) < len(lines):
        _write(leases, "".join(" ".join(words) + "\n" for words in remaining))


def _account(directory: Path) -> tuple[str, ...]:
    """It gives up root's rights where it can read its files without. A user namespace has nobody else."""
    if os.geteuid() == 0 and _has_other_users() and all(_is_open(each) for each in (directory, *directory.parents)):
        with suppress(KeyError):
            return f"--user={pwd.getpwnam(ACCOUNT).pw_name}", "--group=nogroup"
    return "--user=root", "--group="


def _has_other_users() -> bool:
    """Not so in a user namespace of one user: lines of the map are first id here, first id outside, how many."""
    return any(int(line.split()[2]) > 1 for line in Path("/proc/self/uid_map").read_text().splitlines())


def _is_open(directory: Path) -> bool:
    return bool(directory.stat().st_mode & stat.S_IXOTH)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def _write(path: Path, text: str) -> None:
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(text)
    fresh.chmod(0o644)
    fresh.replace(path)
