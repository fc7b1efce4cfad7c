"""From a taken piece of work to the order that its agent gets, with all that later writes would have to look up."""

from typing import Any

from computeagent.protocol.power import PowerState
from computeagent.protocol.work import AgentLease, WorkContext, WorkKind, WorkOrder
from controlplane.infra.db import uuid_value
from controlplane.kernel.errors import NotFound
from controlplane.work.conf import work_options
from controlplane.work.models import Work
from controlplane.work.work import WorkLease as RowLease
from scheduling.topology.selectors.claims import topology_of_instance
from servers.agent_api.guest_spec import guest_of_shelved_image, guest_spec
from servers.conductor.dispatch import LIMITS
from servers.instances.actions.rule import ActionRule
from servers.instances.actions.table import ACTION_OF_WORK
from servers.instances.selectors.work_images import FROM_IMAGE
from servers.instances.services.vendor_data import has_vendor_data
from servers.instances.services.work_secrets import work_secrets_of
from servers.models import Instance, Port
from servers.networks.selectors.port_specs import port_specs
from servers.states import VmState
from servers.volumes.selectors.guest_volumes import FLAVOR_DISKS, guest_disks

AS_IT_IS = {VmState.ACTIVE: PowerState.RUNNING, VmState.PAUSED: PowerState.PAUSED}

# In SQL, since Django takes three times as long to make this query for the widest table of all as the database to run
# it, and an agent asks for each piece of work. The newest open action is the one that the work was written for.
_INSTANCE = """
SELECT servers_instance.*,
       (SELECT action.id FROM servers_instanceaction action
         WHERE action.instance_uuid = servers_instance.id AND action.finished_at IS NULL
         ORDER BY action.started_at DESC, action.id DESC LIMIT 1) AS action_id,
       EXISTS (SELECT 1 FROM servers_servergroupmember member
                WHERE member.instance_uuid = servers_instance.id) AS is_grouped,
       EXISTS (SELECT 1 FROM servers_firstbootdata data
                WHERE data.instance_uuid = servers_instance.id) AS has_first_boot
  FROM servers_instance WHERE id = %s
"""
_PORTS = "SELECT * FROM servers_port WHERE instance_uuid = %s ORDER BY position, created_at, id"


def work_order(work: Work, lease: RowLease, *, owner: str) -> WorkOrder:
    """Three queries: the instance, its ports, and what it was given of its host; three more for ports of networks that
    are not their hypervisor's own, and two for an instance whose disks were named. Raises NotFound.
    """
    try:
        # Any: it has the three more columns as attributes.
        instance: Any = Instance.objects.raw(_INSTANCE, [uuid_value(work.subject)])[0]
    except IndexError:
        raise NotFound(f"Instance {work.subject} does not exist.") from None
    ports = list(Port.objects.raw(_PORTS, [uuid_value(instance.pk)]))
    specs = port_specs(ports)
    guest = guest_spec(
        instance,
        [specs[port.pk] for port in ports],
        topology_of_instance(instance.pk),
        disks=guest_disks([instance]).get(instance.pk, FLAVOR_DISKS),
        asks_first_boot=bool(instance.has_first_boot) or has_vendor_data(instance),
    )
    if FROM_IMAGE in work.arguments:
        guest = guest_of_shelved_image(guest, instance)
    work_context = WorkContext(
        kind=work.kind,
        instance_uuid=str(instance.pk),
        host=instance.host,
        number=max(1, instance.attempts),
        action_id=instance.action_id or 0,
        has_devices=bool(guest.pci_devices),
        has_first_boot=bool(instance.has_first_boot),
        has_block_devices=instance.has_block_devices,
    )
    return WorkOrder(
        lease=AgentLease(str(work.pk), lease.attempt, owner, work_options().lease_s, work_context),
        kind=WorkKind(work.kind),
        guest=guest,
        request_id=work.request_id,
        power_state_wanted=_power_wanted(ACTION_OF_WORK[work.kind], VmState(instance.vm_state)),
        arguments={
            **{key: value for key, value in work.arguments.items() if key != LIMITS},
            **work_secrets_of(work),
        },
        limits=work.arguments.get(LIMITS, {}),
        is_grouped=bool(instance.is_grouped),
    )


def _power_wanted(rule: ActionRule, vm_state: VmState) -> PowerState:
    """What the guest is to be afterwards: as before, where the action changes no state."""
    return (
        rule.power_state_end(vm_state)
        if rule.vm_state_after is not None
        else AS_IT_IS.get(vm_state, PowerState.SHUTDOWN)
    )
