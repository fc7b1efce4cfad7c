"""The request as filters see it, for one instance of the batch, under Nova's attribute names."""

from collections.abc import Mapping
from typing import Any

from computeagent.protocol.topology import GuestTopology
from scheduling.domain.policy import PolicyOptions
from scheduling.domain.request.resources import ResourceRequest
from scheduling.domain.request.schedule_request import Destination, GroupSnapshot, ScheduleRequest
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.numa.constraint import guest_topology
from scheduling.topology.domain.pci.asked import PciRequest


class RequestSpecView:
    """What Nova calls a request spec. Nobody may change it but the engine.

    `instance_group` is up to date: instances of this batch that were placed already count as its members, and their
    hosts as its hosts. `options` are the policy's. `note` leaves a remark in the trace.
    """

    def __init__(
        self,
        request: ScheduleRequest,
        resources: ResourceRequest,
        options: PolicyOptions,
        notes: dict[str, None],
        *,
        index: int = 0,
        group: GroupSnapshot | None = None,
    ) -> None:
        self.request = request
        self.resources = resources
        self.options = options
        self.index = index
        self.instance_uuid = request.instance_uuids[index]
        self.instance_group = group
        self._notes = notes

    def note(self, text: str) -> None:
        """Leave a remark in the trace (once), for instance about a setting that cannot be read."""
        self._notes[text] = None

    def get_scheduler_hint(self, hint_name: str, default: Any = None) -> Any:
        """A hint's first value, as Nova gives hints that take one."""
        values = self.request.hints.get(hint_name)
        return values[0] if values else default

    @property
    def scheduler_hints(self) -> Mapping[str, tuple[str, ...]]:
        """All hints, each a tuple of text."""
        return self.request.hints

    @property
    def flavor(self) -> FlavorSnapshot:
        """The flavor of the batch."""
        return self.request.flavor

    @property
    def image(self) -> ImageSnapshot:
        """The image of the batch."""
        return self.request.image

    @property
    def vcpus(self) -> int:
        """vCPUs of the flavor."""
        return self.request.flavor.vcpus

    @property
    def memory_mb(self) -> int:
        """Memory of the flavor in MiB."""
        return self.request.flavor.memory_mib

    @property
    def root_gb(self) -> int:
        """Root disk of the flavor in GiB."""
        return self.request.flavor.root_gib

    @property
    def ephemeral_gb(self) -> int:
        """Ephemeral disk of the flavor in GiB."""
        return self.request.flavor.ephemeral_gib

    @property
    def swap(self) -> int:
        """Swap of the flavor in MiB."""
        return self.request.flavor.swap_mib

    @property
    def project_id(self) -> str:
        """The project that asks."""
        return self.request.project_id

    @property
    def user_id(self) -> str:
        """The user who asks."""
        return self.request.user_id

    @property
    def availability_zone(self) -> str | None:
        """The zone asked for, if any."""
        return self.request.availability_zone

    @property
    def num_instances(self) -> int:
        """Size of the batch."""
        return len(self.request.instance_uuids)

    @property
    def ignore_hosts(self) -> tuple[str, ...]:
        """Hosts to leave out."""
        return self.request.ignore_hosts

    @property
    def force_hosts(self) -> tuple[str, ...]:
        """Hosts forced by an administrator."""
        return self.request.force_hosts

    @property
    def force_nodes(self) -> tuple[str, ...]:
        """Nodes forced by an administrator."""
        return self.request.force_nodes

    @property
    def retry(self) -> tuple[tuple[str, str], ...]:
        """Pairs of host and node that were tried in vain."""
        return self.request.retry

    @property
    def requested_destination(self) -> Destination | None:
        """The exact host or node asked for, filters still applying."""
        return self.request.requested_destination

    @property
    def is_bfv(self) -> bool:
        """Whether the root disk is a volume."""
        return self.request.is_bfv

    @property
    def numa_topology(self) -> GuestTopology | None:
        """The NUMA cells the instance asks for; None for no constraint. Raises Invalid for contradictions."""
        return guest_topology(self.request.flavor, self.request.image)

    @property
    def pci_requests(self) -> tuple[PciRequest, ...]:
        """The PCI devices the instance asks for."""
        return self.request.pci_requests
