"""Traits by which a host says what networks it can carry; the control plane chooses hosts of routers by them.

That of a physical network is named as Neutron names it in Placement: CUSTOM_PHYSNET_ and its name.
"""

from collections.abc import Iterable

from computeagent.protocol.networks import NetworkBackendKind

BACKEND_PREFIX = "CUSTOM_NETWORK_"
PHYSICAL_NETWORK_PREFIX = "CUSTOM_PHYSNET_"


def backend_trait(kind: NetworkBackendKind) -> str:
    """That networks of this kind work on the host."""
    return BACKEND_PREFIX + kind.value.upper()


def physical_network_trait(name: str) -> str:
    """That the host has a bridge mapped to this physical network. What a trait cannot have in its name is `_`."""
    letters = (each if each.isascii() and each.isalnum() else "_" for each in name.upper())
    return PHYSICAL_NETWORK_PREFIX + "".join(letters)


def network_traits(kinds: Iterable[NetworkBackendKind], physical_networks: Iterable[str]) -> frozenset[str]:
    """All that a host says that carries networks of these kinds, and has these physical networks."""
    return frozenset({*map(backend_trait, kinds), *map(physical_network_trait, physical_networks)})
