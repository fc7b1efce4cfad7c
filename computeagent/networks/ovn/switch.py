"""Open vSwitch on this host, by `ovs-vsctl`."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from computeagent.networks.base import NetworkError
from computeagent.networks.bridge.commands import Commands
from computeagent.networks.places.commands import environment

BRIDGE = "br-int"
OWNER = "kilonova-host"
"""Of an interface's `external_ids`: the host whose agent made it."""
ZONE = "ct-zone-"
"""What entries of the bridge's `external_ids` begin with that ovn-controller writes for each port."""
ANSWER_S = 10
READY_S = 30


@dataclass(frozen=True, slots=True)
class Plugged:
    """An interface that was joined to the switch here. `iface_id` is OVN's name of its port; with `is_ready` its rules
    are in force.
    """

    name: str
    iface_id: str
    mac: str
    is_ready: bool


class Switch:
    """`database` is the address of its database; empty: where Open vSwitch's own programs look for it. `ready_s`:
    seconds for which a port that was plugged may wait for OVN's rules.
    """

    def __init__(self, commands: Commands, host: str, database: str = "", *, ready_s: int = READY_S) -> None:
        self._ready_s = ready_s
        self._commands = commands
        self._host = host
        self._database = (f"--db={database}",) if database else ()

    def probe(self) -> tuple[str, ...]:
        """The physical networks that it has bridges to, or NetworkError that says what it lacks for kind OVN."""
        path = environment()["PATH"]
        if shutil.which("ovs-vsctl", path=path) is None:
            raise NetworkError("networks of kind ovn need Open vSwitch (packages openvswitch-switch and ovn-host)")
        try:
            said = self._table("Open_vSwitch", "external_ids")
        except NetworkError as error:
            raise NetworkError(f"Open vSwitch does not run on this host: {error}") from error
        ids = said[0]["external_ids"] if said else {}
        if not ids.get("ovn-remote"):
            raise NetworkError(
                "this host knows no OVN: ovs-vsctl set open_vswitch . external-ids:ovn-remote=ssl:ADDRESS:6642 "
                "external-ids:ovn-encap-type=geneve external-ids:ovn-encap-ip=ADDRESS"
            )
        if ids.get("system-id") != self._host:
            raise NetworkError(
                f"OVN knows this host as {ids.get('system-id') or 'nobody'}, and its agent is {self._host}: "
                f"ovs-vsctl set open_vswitch . external-ids:system-id={self._host}"
            )
        if not self._table("Bridge", "name", f"name={BRIDGE}"):
            raise NetworkError(
                f"there is no bridge {BRIDGE}: ovn-controller (package ovn-host) does not run on this host"
            )
        mappings = str(ids.get("ovn-bridge-mappings", "")).split(",")
        return tuple(name for name in (one.partition(":")[0].strip() for one in mappings) if name)

    @property
    def is_in_user_space(self) -> bool:
        """Whether the datapath is Open vSwitch's own (netdev), which fills in no checksums. Raises NetworkError."""
        return any(row["datapath_type"] == "netdev" for row in self._table("Bridge", "datapath_type", f"name={BRIDGE}"))

    def plugged(self) -> dict[str, Plugged]:
        """{OVN's name of the port: what was joined here as it}. Raises NetworkError."""
        rows = self._table("Interface", "name,external_ids", f"external_ids:{OWNER}={self._host}")
        found = {}
        for row in rows:
            ids = row["external_ids"]
            one = Plugged(
                row["name"], ids.get("iface-id", ""), ids.get("attached-mac", ""), ids.get("ovn-installed") == "true"
            )
            found[one.iface_id] = one
        return found

    def zones(self) -> dict[str, int]:
        """{OVN's name of a port: the zone in which its connections are tracked here}. Raises NetworkError."""
        rows = self._table("Bridge", "external_ids", f"name={BRIDGE}")
        ids = rows[0]["external_ids"] if rows else {}
        return {key.removeprefix(ZONE): int(value) for key, value in ids.items() if key.startswith(ZONE)}

    def join(self, name: str, iface_id: str, mac: str) -> None:
        """Join the interface as this port of OVN's. Raises NetworkError."""
        ids = {"iface-id": iface_id, "attached-mac": mac, "iface-status": "active", OWNER: self._host}
        named = [f"external_ids:{key}={json.dumps(value)}" for key, value in ids.items()]
        self._run("--may-exist", "add-port", BRIDGE, name, "--", "set", "interface", name, *named)

    def leave(self, *names: str) -> None:
        """Join them no more, if they are. Raises NetworkError."""
        if names:
            self._run(*" -- ".join(f"--if-exists del-port {BRIDGE} {name}" for name in names).split(" "))

    def wait_ready(self, name: str) -> None:
        """Until the rules of the interface's port are in force. Raises NetworkError."""
        try:
            self._run("wait-until", "interface", name, 'external_ids:ovn-installed="true"', limit_s=self._ready_s)
        except NetworkError as error:
            raise NetworkError(
                f"OVN did not have its rules in force within {self._ready_s} s (is ovn-controller connected, and does "
                "the control plane reach the northbound database?)"
            ) from error

    def _table(self, table: str, columns: str, condition: str = "") -> list[dict[str, Any]]:
        verb = ("find", table, condition) if condition else ("list", table)
        said = json.loads(self._run("--format=json", f"--columns={columns}", *verb))
        names = said["headings"]
        return [dict(zip(names, map(_value, row), strict=True)) for row in said["data"]]

    def _run(self, *words: str, limit_s: int = ANSWER_S) -> str:
        """All but the wait for rules is done without waiting for the switch: it may be away, and does it once back."""
        options: Sequence[str] = (*self._database, f"--timeout={limit_s}")
        return self._commands.run(("ovs-vsctl", *options, *words))


def _value(cell: Any) -> Any:
    match cell:
        case ["map", pairs]:
            return dict(pairs)
        case ["set", items]:
            return items
        case _:
            return cell
