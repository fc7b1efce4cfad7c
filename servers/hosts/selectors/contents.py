"""What hangs on a host now: instances, open work, and who else holds some of its providers."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models.functions import Now

from controlplane.kernel.errors import NotFound
from controlplane.work.work import compute_queue, open_work_by_kind
from placement.selectors.allocations import consumers_of_trees
from scheduling.fleet.selectors.host_presence import HostPresence, host_presence
from servers.hosts.domain.removal import (
    HostContents,
    InstanceLeft,
    RemovalObstacle,
    left_behind,
    removal_obstacles,
)
from servers.models import AgentCredential, AgentEnrolment, Instance, Volume, VolumeSnapshot


def host_contents(*, host: str) -> HostContents:
    """Nine queries at most, whatever is on the host. Raises NotFound for one that was never there, or is removed.

    Instances are read after the consumers: an instance that is dispatched between the two looks is among the instances,
    and one that is deleted between them is refused once more than it had to be.
    """
    presence = _presence(host)
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


def host_is_let_in(*, host: str) -> bool:
    """Whether its agent has a secret, or somebody a token for it."""
    if "\0" in host:  # PostgreSQL refuses a NUL in text
        return False
    tokens = AgentEnrolment.objects.filter(host=host, expires_at__gt=Now())
    return AgentCredential.objects.filter(host=host).exists() or tokens.exists()


def _presence(host: str) -> HostPresence:
    """One that was let in and never registered is in no table of the fleet, and can be removed all the same."""
    try:
        return host_presence(host=host)
    except NotFound:
        if not host_is_let_in(host=host):
            raise
    return HostPresence(
        host, None, is_up=False, is_disabled=True, is_forced_down=False, compute_node_uuids=(), aggregates=()
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
