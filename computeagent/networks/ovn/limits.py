"""How many connections each guest here may have: limits of the zones of connection tracking that OVN gives its ports.

They are in the datapath and in no database, so that a switch that starts anew has none: they are compared with what
they are to be now and then. All limits of zones of this datapath are this agent's.
"""

import re
import threading
from collections.abc import Collection

from computeagent.networks.base import NetworkError
from computeagent.networks.ovn.datapath import IN_KERNEL, IN_USER_SPACE, Datapath
from computeagent.networks.ovn.switch import Switch

_LIMIT = re.compile(r"zone=(\d+),limit=(\d+)")


class ConnectionLimits:
    """`max_connections` of each guest; 0: as many as there is room for. Used by several threads."""

    def __init__(self, datapath: Datapath, switch: Switch, max_connections: int) -> None:
        self._datapath, self._switch, self._maximum = datapath, switch, max_connections
        self._lock = threading.Lock()

    def ensure(self, port_ids: Collection[str]) -> None:
        """Have these ports limited, and no others. Raises NetworkError."""
        with self._lock:
            there = self._there()
            zones = self._switch.zones() if self._maximum else {}
            wanted = {zones[one] for one in port_ids if one in zones}
            self._set({zone for zone in wanted if there.get(zone) != self._maximum})
            if gone := there.keys() - wanted:
                self._ask("ct-del-limits", f"zone={','.join(str(one) for one in sorted(gone))}")

    def ensure_one(self, port_id: str) -> None:
        """Have this port limited, which has just been plugged. Raises NetworkError."""
        if self._maximum:
            with self._lock:
                zone = self._switch.zones().get(port_id)
                if zone is None:
                    raise NetworkError(f"OVN tracks connections of port {port_id} in no zone of its own")
                self._set({zone})

    def _there(self) -> dict[int, int]:
        return {int(zone): int(limit) for zone, limit in _LIMIT.findall(self._ask("ct-get-limits"))}

    def _set(self, zones: Collection[int]) -> None:
        if zones:
            self._ask("ct-set-limits", *(f"zone={zone},limit={self._maximum}" for zone in sorted(zones)))

    def _ask(self, verb: str, *words: str) -> str:
        name = IN_USER_SPACE if self._switch.is_in_user_space else IN_KERNEL
        return self._datapath.ask((f"dpctl/{verb}", name, *words))
