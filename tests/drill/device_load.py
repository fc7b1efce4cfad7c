"""The share of ports that are devices of their hosts in the mixed load: virtual functions, claimed with instances."""

from collections.abc import Callable
from typing import Any

from tests.drill.asking import Ask, listed
from tests.drill.names import DEVICE_NETWORK

MAX_PORTS = 3
"""Fewer than one host has devices."""
NEUTRON = "/network/v2.0/ports"
"""Where one says of a port that it is a device."""


class DeviceLoad:
    """Ports come first, instances with them, and then both go, one after the other."""

    def __init__(self, ask: Ask, create: Callable[[str], None]) -> None:
        self._ask, self._create = ask, create

    def make(self) -> None:
        """A port that nobody has gets an instance; as long as there are few, another one is made."""
        ports = self._ports()
        if len(ports) < MAX_PORTS:
            network = next((one["id"] for one in listed(self._ask, "networks/") if one["name"] == DEVICE_NETWORK), None)
            if network is not None:
                self._ask(NEUTRON, {"port": {"network_id": network, "binding:vnic_type": "direct"}})
        for port in [one for one in ports if not one["instance"]][:1]:
            self._create(str(port["id"]))

    def drain(self) -> None:
        """Take the ports away, when no instance is left."""
        for port in self._ports():
            self._ask(f"ports/{port['id']}/", None, "DELETE", fine=(404,))

    def _ports(self) -> list[dict[str, Any]]:
        network = next((one["id"] for one in listed(self._ask, "networks/") if one["name"] == DEVICE_NETWORK), None)
        return [one for one in listed(self._ask, "ports/") if network is not None and one["network"] == network]
