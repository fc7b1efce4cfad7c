"""Removing a host: everything that the control plane knows of it goes in one transaction, or it stays whole."""

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import IntegrityError, transaction

from computeagent.protocol.work import WorkKind
from controlplane.audit_log.recording.audited import audited
from controlplane.audit_log.recording.record import AuditChange, AuditTarget, change_record
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from controlplane.work.control import Operator, queue_end
from controlplane.work.work import compute_queue
from placement.domain.provider_errors import ProviderInUse
from scheduling.fleet.services.hosts import HostDeleted, host_delete
from scheduling.topology.services.claims import claims_free
from servers.agent_api.credentials import credential_remove
from servers.agent_api.host_ownership import host_ownership_remove
from servers.hosts.domain.removal import (
    InstanceLeft,
    RemovalObstacle,
    RemovalReason,
    left_behind,
    removal_obstacles,
    removal_refused,
)
from servers.hosts.selectors.contents import host_contents
from servers.images.services.host_images import host_images_forget
from servers.instances.services.delete import deletion_take_up
from servers.models import Instance, OrphanGuest
from servers.networks.services.bindings import host_networks_forget
from servers.states import DELETING_TASKS
from servers.volumes.services.pools import host_pools_forget

log = logging.getLogger(__name__)
REMOVE = "host.remove"
WORK_ENDS = "its host was removed"
"""Why work under way ends. Owners of instances read it, so it names no host."""
JUST_NOW = RemovalObstacle(RemovalReason.ALLOCATIONS, _("Somebody took some of it at this very moment. Look again."))


@dataclass(frozen=True, slots=True)
class HostRemoved:
    """What went with the host, and what a forced removal left: instances that no host runs any more.

    `work_ended` counts pieces of work that were under way, `deletions` those of them that deleted an instance, which
    are complete now. `allocations_freed` counts the instances that held some of the host.
    """

    host: str
    providers: int
    aggregates: tuple[str, ...]
    instances_left: tuple[InstanceLeft, ...] = ()
    allocations_freed: int = 0
    work_ended: int = 0
    deletions: int = 0


@audited(REMOVE, by="host", by_itself=True)
def host_remove(*, host: str, force: bool = False, operator: Operator | None = None) -> HostRemoved:
    """Remove a host: service, compute node with topology and devices, mapping, providers, memberships of aggregates,
    counters of failed builds, orphan guests, open enrolments, and its agent's secret. One that was let in and never
    registered has the last two alone.

    One transaction: cut off anywhere, the host is whole. Its agent, if it still runs, is refused from then on and does
    not bring the host back; enrolled again, the host is a new one. An instance that is being scheduled to it keeps it
    by its claim, which the removal of the provider refuses; a claim that comes later finds no provider.

    With `force`, a host that is forced down is removed with instances on it. They stay as they are, on a host that is
    not there, and hold nothing any more (Nova removes their allocations with the provider too); work under way ends by
    the rule of its kind, and deletions are completed. Raises NotFound, RemovalRefused.
    """
    host_contents(host=host)  # NotFound for what is no name either
    try:
        removed = in_transaction(_once(host, force, operator))
    except IntegrityError as error:
        # Of a database that checks references when the transaction ends: a claim came in between.
        raise removal_refused(host, (JUST_NOW,)) from error
    log.warning(
        "user %s removed host %s%s: %d providers, %d instances left without a host, %d pieces of work ended",
        operator.user_id if operator else "-",
        host,
        " by force" if force else "",
        removed.providers,
        len(removed.instances_left),
        removed.work_ended,
    )
    return removed


def _once(host: str, force: bool, operator: Operator | None) -> Callable[[], HostRemoved]:
    def work() -> HostRemoved:
        # First: from here on no statement of its agent takes effect, and none that began is cut.
        host_ownership_remove(host=host)
        contents = host_contents(host=host)
        if obstacles := removal_obstacles(contents, force=force):
            raise removal_refused(host, obstacles)
        ended = queue_end(queue=compute_queue(host), reason=WORK_ENDS, but=(WorkKind.DELETE,)) if force else []
        placed = [one.id for one in contents.instances]
        freed = claims_free(placed) if placed else 0
        gone = _fleet_rows(host)
        credential_remove(host=host)
        OrphanGuest.objects.filter(host=host).delete()
        host_images_forget(host=host)
        host_pools_forget(host=host)
        deleted = _deletions_complete(host)
        host_networks_forget(host=host)
        left = tuple(one for one in contents.instances if one.id not in deleted)
        removed = HostRemoved(host, gone.providers, gone.aggregates, left, freed, len(ended), len(deleted))
        facts = {"providers": removed.providers, "instances_left": [str(one.id) for one in left], "force": force}
        change_record(AuditChange(REMOVE, AuditTarget("host", host, host), after=facts), of=REMOVE)
        if operator is not None:
            _write_down(removed, left_behind(contents), operator)
        return removed

    return work


def _fleet_rows(host: str) -> HostDeleted:
    try:
        with transaction.atomic():
            return host_delete(host=host)
    except NotFound:  # its agent was let in, and never registered
        return HostDeleted((), 0, ())
    except ProviderInUse as error:
        raise removal_refused(host, (JUST_NOW,)) from error


def _deletions_complete(host: str) -> set[uuid.UUID]:
    """The instances that were being deleted: no host is to be asked any more, so they are gone."""
    rows = Instance.objects.select_for_update().filter(host=host, deleted_at__isnull=True)
    deleting = list(rows.filter(task_state__in=DELETING_TASKS).order_by("pk"))
    for instance in deleting:
        deletion_take_up(instance)
    return {instance.pk for instance in deleting}


def _write_down(removed: HostRemoved, left: tuple[str, ...], operator: Operator) -> None:
    """In the admin's log."""
    LogEntry.objects.create(
        user_id=operator.user_id,
        content_type=ContentType.objects.get_by_natural_key("scheduling", "service"),
        object_id=removed.host[:200],
        object_repr=f"host {removed.host}"[:200],
        action_flag=DELETION,
        change_message=" ".join([_("Removed by {operator}.", operator=operator.name), *left]),
    )
