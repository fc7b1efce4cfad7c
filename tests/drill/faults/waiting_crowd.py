"""Many agents that do nothing but wait: each has a host and a secret of its own, registers, and polls again and again.

    python -m tests.drill.faults.waiting_crowd URL STATE_DIR SOCKET HOST...

A host's secret lies in a directory of its name below STATE_DIR. None of them sends a heartbeat: their hosts are up
because they poll. The socket answers {"ask": "polls"} with what each host heard, and for how many seconds it has been
waiting now, one poll after the other without a failure (-1: it does not).
"""

import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any

from computeagent.agent.retry import backoff_s
from computeagent.protocol.hosts import HostReport
from computeagent.transport.address import ControlPlaneAddress
from computeagent.transport.http_conductor import http_conductor
from computeagent.transport.secret_file import SecretFile
from controlplane.kernel.errors import Unavailable
from tests.drill.json_socket import server

WAIT_S = 30.0
MEMORY_MIB = 1
"""So little that the scheduler chooses none of these hosts."""


class Waiting:
    """One of them. For one thread; `as_row` may be asked by another."""

    def __init__(self, address: ControlPlaneAddress, host: str, state: Path) -> None:
        self._conductor = http_conductor(address, SecretFile(state))
        self._host = host
        self._agent_id = str(uuid.uuid4())
        self._heard: list[str] = []
        self._since: float | None = None

    def run(self) -> None:
        """For ever, as an agent's thread does it."""
        failures = 0
        is_known = False
        while True:
            try:
                if not is_known:
                    self._register()
                    is_known = True
                self._since = time.monotonic() if self._since is None else self._since
                wakeups = self._conductor.wakeups(host=self._host, timeout_s=WAIT_S)
                self._heard += [each.work_id for each in wakeups]
                failures = 0
            except Unavailable:
                self._since = None
                failures += 1
                time.sleep(backoff_s(failures))

    def as_row(self) -> dict[str, Any]:
        """What the harness asks for."""
        since = self._since
        return {"heard": list(self._heard), "waits_s": -1.0 if since is None else time.monotonic() - since}

    def _register(self) -> None:
        self._conductor.host_own(host=self._host, agent_id=self._agent_id, guests=[])
        sizes = {"vcpus": 1, "memory_mib": MEMORY_MIB, "disk_gib": 0}
        report = HostReport(self._host, hypervisor_type="test", hypervisor_version=1, **sizes)
        self._conductor.register(host=self._host, report=report)


def main(url: str, state: Path, socket: Path, hosts: list[str]) -> None:
    """Until killed."""
    address = ControlPlaneAddress(url, answer_s=10.0)
    crowd = {host: Waiting(address, host, state / host) for host in hosts}
    for each in crowd.values():
        threading.Thread(target=each.run, daemon=True).start()
    server(socket, lambda _question: {host: each.as_row() for host, each in crowd.items()}).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
