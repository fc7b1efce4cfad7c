"""Diagnostics of one instance, out of rows: no hypervisor is asked."""

from collections.abc import Mapping
from typing import Any

from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _
from scheduling.fleet.selectors.hosts import host_nodes
from servers.instances.domain.diagnostics import diagnostics_document
from servers.instances.selectors.block_devices import instance_disks
from servers.instances.selectors.guest_counters import CountersSpan, guest_counters
from servers.models import Instance, Port
from servers.states import POWERED_ON

POLICY = "instances:diagnostics"


def instance_diagnostics(*, caller: Caller, instance: Instance) -> Mapping[str, Any]:
    """The newest counters. Raises Forbidden, as Nova's policy has it for all but admins, and Conflict for a guest that
    is off.
    """
    require(caller, POLICY)
    if instance.power_state not in POWERED_ON or not instance.host:
        raise Conflict(_("The guest is off, so nothing is counted."), vm_state=instance.vm_state)
    found = guest_counters(instance, CountersSpan.HOUR)
    node = host_nodes().filter(host=instance.host).first()
    macs = tuple(
        Port.objects.filter(instance_uuid=instance.pk).order_by("created_at", "id").values_list("mac", flat=True)
    )
    disks = instance_disks([instance]).get(instance.pk, ())
    return diagnostics_document(
        state=instance.power_state,
        virt_type=node.virt_type if node else "",
        vcpus=instance.vcpus,
        memory_mib=instance.memory_mib,
        has_config_drive=instance.config_drive,
        disks=len(disks) or 1 + bool(instance.ephemeral_gib) + bool(instance.swap_mib),
        nics=len(macs) or int(instance.has_default_network),
        macs=macs,
        sample=found.samples[-1] if found.samples else None,
        rates=found.rates[-1] if found.rates else None,
    )
