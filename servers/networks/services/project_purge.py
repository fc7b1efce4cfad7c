"""What a project has of networks by itself goes with it."""

import uuid

from servers.models import PortGroup, SecurityGroup
from servers.networks.services.changes import networks_changed


def default_group_purge(project_id: uuid.UUID) -> None:
    """Remove the default group, which was made on first need, unless ports are in it (as Neutron's purge does).

    In the caller's transaction.
    """
    group = SecurityGroup.objects.filter(project_id=project_id, is_default=True).first()
    if group is None:
        return
    networks_changed(groups=[group.pk])
    if not PortGroup.objects.filter(group=group).exists():
        SecurityGroup.objects.filter(pk=group.pk).delete()
