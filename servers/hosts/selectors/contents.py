"""What hangs on a host now: instances, open work, and who else holds some of its providers."""

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.work.work import compute_queue, open_work_by_kind
from placement.selectors.allocations import consumers_of_trees
from scheduling.fleet.selectors.host_presence import host_presence
from servers.hosts.domain.removal import (
    HostContents,
    InstanceLeft,
    RemovalObstacle,
    left_behind,
    removal_obstacles,
)
from servers.models import Instance, Volume, VolumeSnapshot


def host_contents(*, host: str) -> HostContents:
    """Nine queries at most, whatever is on the host. Raises NotFound for one that was never there, or is removed.

    Instances are read after the consumers: an instance that is dispatched between the two looks is among the instances,
    and one that is deleted between them is refused once more than it had to be.
    """
    presence = host_presence(host=host)
    consumers = consumers_of_trees(presence.compute_node_uuids)
    living = Instance.objects.filter(host=host, deleted_at__isnull=True).order_by("name", "pk")
    instances = tuple(InstanceLeft(pk, name) for pk, name in living.values_list("pk", "name"))
    volumes = list(Volume.objects.filter(pool__host=host).order_by("name", "pk"))
    snapshots = VolumeSnapshot.objects.filter(volume__pool__host=host).values_list("pk", flat=True)
    of_volumes = {one.pk for one in volumes} | set(snapshots)
    return HostContents(
        host=host,
        is_up=presence.is_up,
        is_disabled=presence.is_disabled,
        is_forced_down=presence.is_forced_down,
        instances=instances,
        work=open_work_by_kind(queue=compute_queue(host)),
        consumers=tuple(sorted(consumers - {one.id for one in instances} - of_volumes)),
        volumes=tuple(str(one) for one in volumes),
        aggregates=presence.aggregates,
    )


@dataclass(frozen=True, slots=True)
class RemovalPreview:
    """What would become of a removal now, without and with force."""

    contents: HostContents
    obstacles: tuple[RemovalObstacle, ...]
    obstacles_to_force: tuple[RemovalObstacle, ...]
    left_behind: tuple[str, ...]

    @property
    def host(self) -> str:
        """The host's name."""
        return self.contents.host

    @property
    def instances(self) -> tuple[InstanceLeft, ...]:
        """The instances on it."""
        return self.contents.instances

    @property
    def work(self) -> Mapping[str, int]:
        """Open work by kind."""
        return self.contents.work

    @property
    def aggregates(self) -> tuple[str, ...]:
        """The aggregates it is in, by name."""
        return self.contents.aggregates


def removal_preview(*, host: str) -> RemovalPreview:
    """What a page or a client shows before anybody decides. Raises NotFound."""
    contents = host_contents(host=host)
    return RemovalPreview(
        contents,
        removal_obstacles(contents, force=False),
        removal_obstacles(contents, force=True),
        left_behind(contents),
    )
