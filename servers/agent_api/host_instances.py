"""The instances of a host as its agent is told of them."""

import uuid
from collections import defaultdict

from computeagent.protocol.guests import GuestSpec, InstanceOnHost, PortSpec
from computeagent.protocol.power import PowerState
from controlplane.infra.prepared import PreparedQuery
from controlplane.work.work import open_work_subjects
from scheduling.topology.selectors.claims import topologies_of_instances, topology_of_instance
from servers.agent_api.guest_spec import guest_spec
from servers.instances.actions.table import WORK_WITHOUT_TASK
from servers.models import Instance, Port
from servers.networks.selectors.port_specs import port_specs
from servers.volumes.selectors.guest_volumes import FLAVOR_DISKS, guest_disks

# Every agent asks each minute.
_HERE = PreparedQuery(
    "instances_on_host", lambda host: Instance.objects.filter(host=host, deleted_at__isnull=True), types=["text"]
)


def instances_on_host(host: str) -> list[InstanceOnHost]:
    """Those that live, with all that their guests are made of. Nine queries, however many instances; one for none.

    Work without a task is no work on an instance here: it ends without its guest having come back.
    """
    instances = _HERE.run([host])
    if not instances:
        return []
    ids = [instance.pk for instance in instances]
    busy = open_work_subjects(subjects=ids, other_than=WORK_WITHOUT_TASK)
    ports: dict[uuid.UUID, list[PortSpec]] = defaultdict(list)
    rows = list(Port.objects.filter(instance_uuid__in=ids).order_by("position", "created_at", "pk"))
    specs = port_specs(rows)
    for port in rows:
        if port.instance_uuid is not None:
            ports[port.instance_uuid].append(specs[port.pk])
    placed, disks = topologies_of_instances(ids), guest_disks(instances)
    return [
        InstanceOnHost(
            uuid=str(instance.pk),
            name=instance.name,
            vm_state=instance.vm_state,
            task_state=instance.task_state,
            power_state=PowerState(instance.power_state),
            has_open_work=instance.pk in busy,
            guest=guest_spec(
                instance,
                ports[instance.pk],
                placed.get(instance.pk),
                disks=disks.get(instance.pk, FLAVOR_DISKS),
            ),
        )
        for instance in instances
    ]


def guest_of_instance(instance: Instance) -> GuestSpec:
    """All that the guest of one instance is made of."""
    ports = list(Port.objects.filter(instance_uuid=instance.pk).order_by("position", "created_at", "pk"))
    specs = port_specs(ports)
    disks = guest_disks([instance]).get(instance.pk, FLAVOR_DISKS)
    return guest_spec(instance, [specs[port.pk] for port in ports], topology_of_instance(instance.pk), disks=disks)
