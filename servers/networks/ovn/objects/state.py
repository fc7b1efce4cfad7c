"""What the rows of this control plane say of networks of kind OVN."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from computeagent.protocol.networks import GroupSpec, HostPort, NetworkSpec, RouterSpec


@dataclass(frozen=True, slots=True)
class OvnPort:
    """A guest's port, and the chassis that alone may plug it; empty while it is bound nowhere."""

    port: HostPort
    host: str = ""


@dataclass(frozen=True, slots=True)
class OvnRouter:
    """A router. `macs` are the MAC addresses that its floating addresses have outside, by their ids."""

    router: RouterSpec
    macs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OvnState:
    """Some or all of it: with a port its network and its groups, with a router the networks of its legs.

    `pairs`: by group the addresses and ranges that its members may send from beside their own.
    """

    networks: tuple[NetworkSpec, ...] = ()
    ports: tuple[OvnPort, ...] = ()
    groups: tuple[GroupSpec, ...] = ()
    routers: tuple[OvnRouter, ...] = ()
    pairs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OvnLayout:
    """How this installation uses OVN. `gateway_chassis` are those that routers' outside traffic goes through, the
    preferred ones first; with `has_distributed_floating` each floating address is outside at its guest's own chassis.
    """

    gateway_chassis: tuple[str, ...] = ()
    has_distributed_floating: bool = True
