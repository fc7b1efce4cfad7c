"""Security groups of an instance: those of all its ports together (Nova's addSecurityGroup and removeSecurityGroup)."""

import uuid

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.audit_log.recording.audited import audited
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Conflict
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from servers.models import Instance, Port, PortGroup, SecurityGroup
from servers.networks.domain.errors import SecurityGroupCannotBeApplied, SecurityGroupNotFound
from servers.networks.services.changes import networks_changed
from servers.networks.services.groups import DEFAULT_GROUP, default_group_ensure
from servers.networks.services.port_locks import ports_with_networks_lock
from servers.networks.services.ports import groups_held


@audited("instance.security_group_add", Instance, by="instance_uuid", also=("group",))
def instance_group_add(*, project_id: uuid.UUID, instance_uuid: uuid.UUID, group: str) -> SecurityGroup:
    """Put all ports of the instance into a group of its project, named by name or id. Those in it already stay.

    Raises SecurityGroupNotFound; Conflict for a name that several have; SecurityGroupCannotBeApplied for an instance
    without a port that rules can be kept for.
    """
    if group == DEFAULT_GROUP:
        default_group_ensure(project_id=project_id)
    found = group_of_reference(project_id=project_id, reference=group)

    def work() -> None:
        # The rows of the ports are locked, so that none of them goes meanwhile.
        ports = ports_with_networks_lock(
            Port.objects.filter(instance_uuid=instance_uuid, has_security=True)
            .exclude(network=None)
            .exclude(network__kind=NetworkBackendKind.HYPERVISOR.value)
        )
        if not ports:
            raise SecurityGroupCannotBeApplied(
                _(
                    "The instance {instance_uuid} has no port that security groups apply to: each is in "
                    "a network of the hypervisor's own, or without port security.",
                    instance_uuid=instance_uuid,
                )
            )
        if found.pk not in groups_held([found.pk]):
            raise SecurityGroupNotFound(_("Security group {group:.80} has just been removed.", group=group))
        PortGroup.objects.bulk_create([PortGroup(port_id=port, group=found) for port in ports], ignore_conflicts=True)
        networks_changed(ports=ports)

    in_transaction(work)
    return found


@audited("instance.security_group_remove", Instance, by="instance_uuid", also=("group",))
def instance_group_remove(*, project_id: uuid.UUID, instance_uuid: uuid.UUID, group: str) -> None:
    """Take all ports of the instance out of the group. Raises SecurityGroupNotFound, also where none of them is in it;
    Conflict for a name that several have.
    """
    found = group_of_reference(project_id=project_id, reference=group)

    def work() -> None:
        rows = PortGroup.objects.filter(group=found, port__instance_uuid=instance_uuid)
        ports = ports_with_networks_lock(Port.objects.filter(pk__in=rows.values("port_id")))
        if not ports:
            raise SecurityGroupNotFound(
                _(
                    "No port of the instance {instance_uuid} is in the group {name}.",
                    instance_uuid=instance_uuid,
                    name=found.name,
                )
            )
        networks_changed(ports=ports)
        PortGroup.objects.filter(group=found, port__in=ports).delete()

    in_transaction(work)


def group_of_reference(*, project_id: uuid.UUID, reference: str) -> SecurityGroup:
    """The project's group with this id or name. Raises SecurityGroupNotFound, Conflict where several have the name."""
    pk = parse_uuid(reference)
    rows = SecurityGroup.objects.filter(project_id=project_id)
    found = rows.filter(pk=pk).first() if pk else None
    if found is not None:
        return found
    named = list(rows.filter(name=reference)[:2]) if "\0" not in reference else []
    if len(named) > 1:
        raise Conflict(
            _(
                "Several security groups of the project are named {reference:.80}: name one by its id.",
                reference=reference,
            )
        )
    if not named:
        raise SecurityGroupNotFound(_("Security group {reference:.80} does not exist.", reference=reference))
    return named[0]
