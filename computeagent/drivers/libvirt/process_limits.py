"""What libvirt may do to the processes of guests here: hold them to shares of CPU and network, and lock their memory.

Daemons of our own put no cgroup around QEMU; memory is locked only by whoever may raise that limit; and cards are held
to a rate by the kernel, where it has the means and the card is a device of the host.
"""

import logging
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from computeagent.protocol.process_traits import CPU_LIMITS, LOCKED_MEMORY, NIC_LIMITS

CAP_SYS_RESOURCE = 24
"""The bit of the capability to raise one's limits: capabilities(7)."""
OWN_STATUS = Path("/proc/self/status")
TRIAL = (
    "tc qdisc add dev lo root handle 1: htb default 1"
    " && tc class add dev lo parent 1: classid 1:1 htb rate 1mbit"
    " && tc qdisc add dev lo parent 1:1 handle 2: sfq perturb 10"
    " && tc qdisc add dev lo ingress"
)
"""What libvirt says to hold a card to a rate, to the loopback of a network namespace that is gone with the shell."""
TRIAL_TIMEOUT_S = 10.0

log = logging.getLogger(__name__)
_shapes: dict[tuple[str, ...], bool] = {}
"""What trials said that came to their end."""


def process_traits(
    *, is_of_machine: bool, is_session: bool, has_cards: bool, status: Path = OWN_STATUS
) -> frozenset[str]:
    """The traits of a host by how it is reached: by the machine's libvirtd (`is_of_machine`), which has all rights, as
    an ordinary user (`is_session`), or by a daemon of ours, which has those of this process. `has_cards`: its kernel
    holds cards of guests to a rate.
    """
    if is_session:
        return frozenset()
    nics = {NIC_LIMITS} if has_cards else set()
    if is_of_machine:
        return frozenset({CPU_LIMITS, LOCKED_MEMORY, *nics})
    return frozenset({LOCKED_MEMORY, *nics}) if may_raise_limits(status) else frozenset(nics)


def kernel_shapes(
    trial: Sequence[str] = ("unshare", "--net", "sh", "-c", TRIAL), timeout_s: float = TRIAL_TIMEOUT_S
) -> bool:
    """Whether this machine's kernel can hold a card to a rate; tried once by each process, with the rights of root. A
    trial that did not come to its end says nothing, and is made again when this is asked again.
    """
    known = _shapes.get(tuple(trial))
    if known is not None:
        return known
    try:
        done = subprocess.run(trial, check=False, capture_output=True, timeout=timeout_s)
        works, said = done.returncode == 0, done.stderr.decode(errors="replace").strip()
    except FileNotFoundError as error:
        works, said = False, str(error)
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("limits of cards could not be tried now, so guests are given none yet: %s", error)
        return False
    if not works:
        log.warning("limits of cards do not work here: %s", said)
    _shapes[tuple(trial)] = works
    return works


def may_raise_limits(status: Path = OWN_STATUS) -> bool:
    """Whether the process of this `/proc/PID/status` may; no where that cannot be read."""
    try:
        found = re.search(r"^CapEff:\s*([0-9a-f]+)$", status.read_text(), re.MULTILINE)
    except OSError:
        return False
    return found is not None and bool(int(found[1], 16) >> CAP_SYS_RESOURCE & 1)
