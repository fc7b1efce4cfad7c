"""From a taken piece of work to the order that its agent gets, with all that later writes would have to look up."""

from django.db.models import Exists, OuterRef, Subquery

from computeagent.protocol.work import AgentLease, WorkContext, WorkKind, WorkOrder
from controlplane.kernel.errors import NotFound
from controlplane.work.conf import work_options
from controlplane.work.models import Work
from controlplane.work.work import WorkLease as RowLease
from scheduling.topology.selectors.claims import topology_of_instance
from servers.agent_api.guest_spec import guest_spec
from servers.conductor.dispatch import LIMITS
from servers.instances.actions.table import ACTION_OF_WORK
from servers.models import Instance, InstanceAction, Port, ServerGroupMember

# The newest open action is the one that the work was written for: see `instance_journal`.
_OPEN_ACTION = InstanceAction.objects.filter(instance_uuid=OuterRef("pk"), finished_at__isnull=True)
_MEMBERSHIP = ServerGroupMember.objects.filter(instance_uuid=OuterRef("pk"))
# Annotated once: working that out costs as much as the query.
_INSTANCES = Instance.objects.annotate(
    action_id=Subquery(_OPEN_ACTION.values("pk")[:1]), is_grouped=Exists(_MEMBERSHIP)
)


def work_order(work: Work, lease: RowLease, *, owner: str) -> WorkOrder:
    """Three queries: the instance, its ports, and what it was given of its host. Raises NotFound."""
    try:
        instance = _INSTANCES.get(pk=work.subject)
    except Instance.DoesNotExist:
        raise NotFound(f"Instance {work.subject} does not exist.") from None
    ports = list(Port.objects.filter(instance_uuid=instance.pk))
    guest = guest_spec(instance, ports, topology_of_instance(instance.pk))
    work_context = WorkContext(
        kind=work.kind,
        instance_uuid=str(instance.pk),
        host=instance.host,
        number=max(1, instance.attempts),
        action_id=instance.action_id or 0,
        has_devices=bool(guest.pci_devices),
    )
    return WorkOrder(
        lease=AgentLease(str(work.pk), lease.attempt, owner, work_options().lease_s, work_context),
        kind=WorkKind(work.kind),
        guest=guest,
        request_id=work.request_id,
        power_state_wanted=ACTION_OF_WORK[work.kind].power_state_wanted,
        arguments={key: value for key, value in work.arguments.items() if key != LIMITS},
        limits=work.arguments.get(LIMITS, {}),
        is_grouped=bool(instance.is_grouped),
    )
