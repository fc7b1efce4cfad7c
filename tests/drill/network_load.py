"""The share of routers, floating addresses, rules, groups and ports in the mixed load: each step looks first at what
there is. Cards come and go with the load of instances.
"""

import random
import threading
from dataclasses import dataclass
from typing import Any

from tests.drill.asking import Ask, listed
from tests.drill.names import NETWORK, OUTSIDE, OVN_NETWORK, OVN_OUTSIDE

MAX_FLOATING = 3
RULE = "of the drill"
GROUP = "drill"
"""A security group that instances join and leave, and that a rule of its own names."""
PAIR = {"address": "198.51.100.77"}
GONE = (404,)
"""Right for what somebody else takes away meanwhile."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Names of the networks and the router of one kind. Routers of OVN are on no host, from which they could move."""

    network: str
    outside: str
    router: str
    is_ovn: bool = False


BRIDGES = Scene(NETWORK, OUTSIDE, "drill")
OVN = Scene(OVN_NETWORK, OVN_OUTSIDE, "drill-ovn", is_ovn=True)


class NetworkLoad:
    """Steps side by side with the load of instances. Refusals by the state of things (409) are right."""

    def __init__(self, ask: Ask, rng: random.Random, scene: Scene = BRIDGES) -> None:
        self._ask, self._rng, self.scene = ask, rng, scene
        self._lock = threading.Lock()
        self._kept: dict[str, str] = {}
        """Ids of what the API made, and nobody asked to take away: each with its collection."""

    def route(self) -> None:
        """A router between the network and the outside: made, joined, changed, moved, and sometimes taken away."""
        routers = self._routers()
        if not routers:
            name, outside = self.scene.router, self._network(self.scene.outside)["id"]
            made = self._create("routers/", {"name": name, "external_network": outside}) if outside else None
            routers = [made] if made else []
        for router in routers[1:]:  # its answer was lost, and it was asked for again
            self._remove(router)
        for router in routers[:1]:
            path = f"routers/{router['id']}/"
            if not router["interfaces"]:
                if subnet := self._subnet():
                    self._ask(f"{path}add-interface/", {"subnet": subnet}, fine=GONE)
            elif self._rng.random() < 0.4:
                self._remove(router)
            elif not self.scene.is_ovn and self._rng.random() < 0.5:
                self._ask(f"{path}move/", {}, fine=GONE)
            else:
                self._ask(path, {"has_snat": not router["has_snat"]}, "PATCH", fine=GONE)

    def float(self) -> None:
        """Floating addresses: taken, put before one port and then another, before none, and given back."""
        outside = self._network(self.scene.outside)["id"]
        found = self._floating(outside)
        ports = [one["id"] for one in self._ports()]
        port = self._rng.choice(ports) if ports else None
        if outside and len(found) < MAX_FLOATING:
            self._create("floating-ips/", {"network": outside, "port": port}, fine=GONE)
        if found:
            one = self._rng.choice(found)
            if len(found) >= MAX_FLOATING and self._rng.random() < 0.5:
                self._delete("floating-ips/", one["id"])
            else:  # from one port to another at once, or before none
                target = None if one["port"] and self._rng.random() < 0.5 else port
                self._ask(f"floating-ips/{one['id']}/", {"port": target}, "PATCH", fine=GONE)

    def rule(self) -> None:
        """A rule of the default group comes, and goes in the next burst; beside it groups and ports are changed."""
        self._group()
        self.port()
        for group in [one for one in listed(self._ask, "security-groups/") if one["name"] == "default"][:1]:
            mine = [one["id"] for one in group["rules"] if one["description"] == RULE]
            for rule in mine:
                self._delete("security-group-rules/", rule)
            if not mine:
                port = self._rng.randint(1, 65535)
                asked = {"protocol": "tcp", "port_min": port, "port_max": port, "remote_cidr": "198.51.100.0/24"}
                body = {"group": group["id"], "direction": "ingress", "description": RULE, **asked}
                self._create("security-group-rules/", body, fine=GONE)

    def _group(self) -> None:
        """An instance joins the group, or leaves it; without the group it is made, with a rule about itself."""
        groups = [one for one in listed(self._ask, "security-groups/") if one["name"] == GROUP]
        for group in groups[1:]:  # its answer was lost, and it was asked for again
            self._delete("security-groups/", group["id"])
        if not groups:
            made = self._create("security-groups/", {"name": GROUP})
            if made:
                remote = {"protocol": "tcp", "port_min": 80, "port_max": 80, "remote_group": made["id"]}
                body = {"group": made["id"], "direction": "ingress", "description": RULE, **remote}
                self._ask("security-group-rules/", body, fine=GONE)
            return
        group, found = groups[0], self._ports()
        if not found:
            return
        port = self._rng.choice(found)
        path = f"instances/{port['instance']}/security-groups/"
        if group["id"] in port["security_groups"]:
            self._ask(f"{path}{group['id']}/", None, "DELETE", fine=GONE)
        else:
            # 400: its last port was detached meanwhile, and an instance without ports has no groups.
            self._ask(path, {"group": group["id"]}, fine=(*GONE, 400))

    def port(self) -> None:
        """A port in the network may send from one more address, or no longer; or is off for a moment."""
        if found := self._ports():
            port = self._rng.choice(found)
            path = f"ports/{port['id']}/"
            if self._rng.random() < 0.5:
                self._ask(path, {"allowed_pairs": [] if port["allowed_pairs"] else [PAIR]}, "PATCH", fine=GONE)
            else:
                self._ask(path, {"is_enabled": not port["is_enabled"]}, "PATCH", fine=GONE)

    def drain(self) -> list[str]:
        """Take all away, when no instance is left. Returns what was promised and is not there."""
        there = {one["id"] for path in set(self._kept.values()) for one in listed(self._ask, path)}
        faults = [
            f"{path}{uid} was accepted by the API and is nowhere"
            for uid, path in self._kept.items()
            if uid not in there
        ]
        for one in self._floating(self._network(self.scene.outside)["id"]):
            self._delete("floating-ips/", one["id"])
        for router in self._routers():
            self._remove(router)
        for group in [one for one in listed(self._ask, "security-groups/") if one["name"] == GROUP]:
            self._delete("security-groups/", group["id"])
        return faults

    def left(self) -> list[str]:
        """What is there of any kind, after all was taken away."""
        left = [(path, one) for path in ("floating-ips/", "routers/", "ports/") for one in listed(self._ask, path)]
        left += [("security-groups/", one) for one in listed(self._ask, "security-groups/") if one["name"] == GROUP]
        return [f"{path}{one['id']} is left after all were deleted" for path, one in left]

    def _remove(self, router: dict[str, Any]) -> None:
        for leg in router["interfaces"]:
            body = {"port": leg["id"]}
            self._ask(f"routers/{router['id']}/remove-interface/", body, fine=GONE)
        self._delete("routers/", router["id"])

    def _create(self, path: str, body: dict[str, Any], fine: tuple[int, ...] = ()) -> dict[str, Any] | None:
        made: dict[str, Any] | None = self._ask(path, body, fine=fine)
        if not made or "id" not in made:
            return None
        with self._lock:
            self._kept[made["id"]] = path
        return made

    def _delete(self, path: str, uid: str) -> None:
        with self._lock:  # whatever the answer is: one that breaks off may have been heard
            self._kept.pop(uid, None)
        self._ask(f"{path}{uid}/", None, "DELETE", fine=GONE)

    def _network(self, name: str) -> dict[str, Any]:
        return next((one for one in listed(self._ask, "networks/") if one["name"] == name), {"id": None})

    def _ports(self) -> list[dict[str, Any]]:
        """Those that instances have in the network."""
        network = self._network(self.scene.network)["id"]
        return [one for one in listed(self._ask, "ports/") if one["instance"] and one["network"] == network]

    def _routers(self) -> list[dict[str, Any]]:
        return [one for one in listed(self._ask, "routers/") if one["name"] == self.scene.router]

    def _floating(self, outside: str | None) -> list[dict[str, Any]]:
        return [one for one in listed(self._ask, "floating-ips/") if one["network"] == outside]

    def _subnet(self) -> str | None:
        network = self._network(self.scene.network)["id"]
        subnets = listed(self._ask, "subnets/") if network else []
        return next((str(one["id"]) for one in subnets if one["network"] == network), None)
