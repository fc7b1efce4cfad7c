"""What the scheduler must know of instances, told by the app above that owns them."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HostInstances:
    """Instances on one host. `instance_uuids` need only hold those that hints or the server group speak of.

    `flavor_ids` are the flavors of all of them; TypeAffinityFilter alone needs them. `image_properties` counts each
    property of their images with its value as text; ImagePropertiesWeigher alone needs it. `stats` are Nova's counts by
    state, task, project and operating system (`num_vm_active`); flavors that ask for them and plug-ins need them.
    """

    instance_uuids: frozenset[str] = frozenset()
    num_instances: int = 0
    num_io_ops: int = 0
    flavor_ids: frozenset[str] = frozenset()
    stats: Mapping[str, int] = field(default_factory=dict)
    image_properties: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FleetFacts:
    """Facts by service host name; a host that is missing has no instances.

    `trust_levels` are those of compute nodes by name; TrustedFilter alone needs them, for flavors that ask for trust.
    `metrics` are what compute nodes, by name, measured lately; MetricsFilter, MetricsWeigher and plug-ins need them.
    """

    hosts: Mapping[str, HostInstances] = field(default_factory=dict)
    trust_levels: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def of(self, host: str) -> HostInstances:
        """The facts of one host."""
        return self.hosts.get(host, NOTHING)


NOTHING = HostInstances()
NO_METRICS: Mapping[str, float] = {}
