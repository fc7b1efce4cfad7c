"""The share of ports that ask Placement for something in the mixed load: instances that are there get and lose them."""

import random
from typing import Any

from tests.drill.asking import Ask, listed

MAX_PORTS = 4
NAME = "drill-share"
ASKED = {"share": {"resources": {"MEMORY_MB": 1}, "required": []}}
"""A host serves it by itself, as it would a card's bandwidth, so each instance's sum tells whether it is held."""


class PortLoad:
    """Ports that are made, attached by whoever asks for one, free again after a detach, and taken away in the end."""

    def __init__(self, ask: Ask, rng: random.Random, network: str) -> None:
        self._ask, self._rng, self._network = ask, rng, network

    def free(self) -> str | None:
        """The id of one that nobody has; None where there is none yet, or an answer broke off."""
        ports = self._ports()
        if len(ports) < MAX_PORTS:
            network = next((one["id"] for one in listed(self._ask, "networks/") if one["name"] == self._network), None)
            if network is not None:
                self._ask("ports/", {"network": network, "name": NAME, "resource_request": ASKED})
        unused = [str(one["id"]) for one in ports if not one["instance"]]
        return self._rng.choice(unused) if unused else None

    def drain(self) -> None:
        """Take them away, when no instance is left."""
        for port in self._ports():
            self._ask(f"ports/{port['id']}/", None, "DELETE", fine=(404,))

    def _ports(self) -> list[dict[str, Any]]:
        return listed(self._ask, f"ports/?name={NAME}")
