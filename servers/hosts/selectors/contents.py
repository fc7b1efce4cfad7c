"""What hangs on a host now: instances, open work, and who else holds some of its providers."""

from controlplane.work.work import compute_queue, open_work_by_kind
from placement.selectors.allocations import consumers_of_trees
from scheduling.fleet.selectors.host_presence import host_presence
from servers.hosts.domain.removal import HostContents, InstanceLeft
from servers.models import Instance


def host_contents(*, host: str) -> HostContents:
    """Eight queries, whatever is on the host. Raises NotFound for one that was never there, or is removed.

    Instances are read after the consumers: an instance that is dispatched between the two looks is among the instances,
    and one that is deleted between them is refused once more than it had to be.
    """
    presence = host_presence(host=host)
    consumers = consumers_of_trees(presence.compute_node_uuids)
    living = Instance.objects.filter(host=host, deleted_at__isnull=True).order_by("name", "pk")
    instances = tuple(InstanceLeft(pk, name) for pk, name in living.values_list("pk", "name"))
    return HostContents(
        host=host,
        is_up=presence.is_up,
        is_disabled=presence.is_disabled,
        is_forced_down=presence.is_forced_down,
        instances=instances,
        work=open_work_by_kind(queue=compute_queue(host)),
        consumers=tuple(sorted(consumers - {one.id for one in instances})),
        aggregates=presence.aggregates,
    )
