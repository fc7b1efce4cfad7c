"""What the scheduler must know of instances, told by the app above that owns them."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HostFacts:
    """Instances on one host. `instance_uuids` need only hold those that hints or the server group speak of."""

    instance_uuids: frozenset[str] = frozenset()
    num_instances: int = 0
    num_io_ops: int = 0


@dataclass(frozen=True, slots=True)
class FleetFacts:
    """Facts by service host name; a host that is missing has no instances."""

    hosts: Mapping[str, HostFacts] = field(default_factory=dict)

    def of(self, host: str) -> HostFacts:
        """The facts of one host."""
        return self.hosts.get(host, NOTHING)


NOTHING = HostFacts()
