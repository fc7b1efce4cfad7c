"""The trait of a machine type, by which the scheduler finds the hosts that have it."""

from collections.abc import Iterable

import os_traits

from computeagent.protocol.hosts import GuestMachines

PREFIX = "CUSTOM_MACHINE_TYPE_"


def machine_trait(machine: str) -> str:
    """The catalogue has none, so it is a custom one, by the name that os-traits makes of it (pc-q35-7.2: ..._7_2)."""
    return f"{PREFIX}{os_traits.normalize_name(machine).removeprefix(os_traits.CUSTOM_NAMESPACE)}"


def machine_traits(machines: Iterable[GuestMachines]) -> frozenset[str]:
    """Of all that a host reports."""
    return frozenset(machine_trait(name) for one in machines for name in one.names)
