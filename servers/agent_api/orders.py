"""From a taken piece of work to the order that its agent gets, with all that later writes would have to look up."""

from typing import Any

from computeagent.protocol.work import AgentLease, WorkContext, WorkKind, WorkOrder
from controlplane.infra.db import uuid_value
from controlplane.kernel.errors import NotFound
from controlplane.work.conf import work_options
from controlplane.work.models import Work
from controlplane.work.work import WorkLease as RowLease
from scheduling.topology.selectors.claims import topology_of_instance
from servers.agent_api.guest_spec import guest_spec
from servers.conductor.dispatch import LIMITS
from servers.instances.actions.table import ACTION_OF_WORK
from servers.models import Instance, Port

# In SQL, since Django takes three times as long to make this query for the widest table of all as the database to run
# it, and an agent asks for each piece of work. The newest open action is the one that the work was written for.
_INSTANCE = """
SELECT servers_instance.*,
       (SELECT action.id FROM servers_instanceaction action
         WHERE action.instance_uuid = servers_instance.id AND action.finished_at IS NULL
         ORDER BY action.started_at DESC, action.id DESC LIMIT 1) AS action_id,
       EXISTS (SELECT 1 FROM servers_servergroupmember member
                WHERE member.instance_uuid = servers_instance.id) AS is_grouped
  FROM servers_instance WHERE id = %s
"""
_PORTS = "SELECT * FROM servers_port WHERE instance_uuid = %s ORDER BY created_at, id"


def work_order(work: Work, lease: RowLease, *, owner: str) -> WorkOrder:
    """Three queries: the instance, its ports, and what it was given of its host. Raises NotFound."""
    try:
        # Any: it has the two more columns as attributes.
        instance: Any = Instance.objects.raw(_INSTANCE, [uuid_value(work.subject)])[0]
    except IndexError:
        raise NotFound(f"Instance {work.subject} does not exist.") from None
    ports = list(Port.objects.raw(_PORTS, [uuid_value(instance.pk)]))
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
