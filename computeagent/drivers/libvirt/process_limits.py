"""What libvirt may do to the processes of guests here: hold them to shares of the CPU, and lock their memory.

Daemons of our own put no cgroup around QEMU; and memory is locked only by whoever may raise that limit.
"""

import re
from pathlib import Path

from computeagent.drivers.device_traits import CPU_LIMITS, LOCKED_MEMORY

CAP_SYS_RESOURCE = 24
"""The bit of the capability to raise one's limits: capabilities(7)."""
OWN_STATUS = Path("/proc/self/status")


def process_traits(*, is_of_machine: bool, is_session: bool, status: Path = OWN_STATUS) -> frozenset[str]:
    """The traits of a host by how it is reached: by the machine's libvirtd (`is_of_machine`), which has all rights, as
    an ordinary user (`is_session`), or by a daemon of ours, which has those of this process.
    """
    if is_session:
        return frozenset()
    if is_of_machine:
        return frozenset({CPU_LIMITS, LOCKED_MEMORY})
    return frozenset({LOCKED_MEMORY}) if may_raise_limits(status) else frozenset()


def may_raise_limits(status: Path = OWN_STATUS) -> bool:
    """Whether the process of this `/proc/PID/status` may; no where that cannot be read."""
    try:
        found = re.search(r"^CapEff:\s*([0-9a-f]+)$", status.read_text(), re.MULTILINE)
    except OSError:
        return False
    return found is not None and bool(int(found[1], 16) >> CAP_SYS_RESOURCE & 1)
