"""What a host state has beyond the host table, which is read only when somebody asks for it.

The engine's own rules go by columns. A filter written for Nova may read every instance of a host and the time of its
last report, which are too much to read for each decision; so they are read when the first host state is asked.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot

NO_FLAVOR = FlavorSnapshot(id="", name="", vcpus=0, memory_mib=0)


@dataclass(frozen=True, slots=True)
class InstanceSnapshots:
    """The larger parts of one instance: its flavor and image as they were when it was asked for, and its metadata."""

    flavor: FlavorSnapshot = NO_FLAVOR
    image: ImageSnapshot = field(default_factory=ImageSnapshot)
    metadata: Mapping[str, str] = field(default_factory=dict)


def no_snapshots(uuid: str) -> InstanceSnapshots:
    """The snapshots of an instance of which only the name is known: none."""
    return NO_SNAPSHOTS


NO_SNAPSHOTS = InstanceSnapshots()


@dataclass(frozen=True, slots=True)
class HostInstance:
    """An instance on a host, with Nova's attribute names. One of which only the uuid is known has the defaults."""

    uuid: str
    host: str = ""
    node: str = ""
    project_id: str = ""
    user_id: str = ""
    display_name: str = ""
    hostname: str = ""
    availability_zone: str = ""
    vm_state: str = "building"
    task_state: str | None = None
    power_state: str = ""
    instance_type_id: str = ""
    image_ref: str = ""
    vcpus: int = 0
    memory_mb: int = 0
    root_gb: int = 0
    ephemeral_gb: int = 0
    key_name: str = ""
    created_at: datetime | None = None
    launched_at: datetime | None = None
    snapshots: Callable[[str], InstanceSnapshots] = no_snapshots

    @property
    def flavor(self) -> FlavorSnapshot:
        """Its flavor, as it was when the instance was asked for."""
        return self.snapshots(self.uuid).flavor

    @property
    def image(self) -> ImageSnapshot:
        """Its image, as it was when the instance was asked for."""
        return self.snapshots(self.uuid).image

    @property
    def metadata(self) -> dict[str, str]:
        """What its owner wrote."""
        return dict(self.snapshots(self.uuid).metadata)

    @property
    def system_metadata(self) -> dict[str, str]:
        """The image's properties, each name with `image_` before it."""
        properties: Mapping[str, Any] = self.image.properties
        return {f"image_{name}": str(value) for name, value in properties.items()}


class HostDetails:
    """The source of what host states have beyond columns. This one is empty: of a stored fleet there are only the
    columns.
    """

    def instances_on(self, host: str) -> Mapping[str, HostInstance]:
        """All instances of one host, by uuid."""
        return {}

    def updated(self, node_uuid: str) -> datetime | None:
        """When the host of this compute node last reported; None where nobody knows."""
        return None


NO_DETAILS = HostDetails()
