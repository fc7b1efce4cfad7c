"""Adding an interface, and knowing which one it is."""

import uuid
from collections.abc import Mapping

from django.db import transaction

from controlplane.identity.domain import Caller
from servers.instances.actions.interfaces import ATTACH_INTERFACE
from servers.instances.services.act import instance_act
from servers.models import Instance, Port


def interface_attach(
    *, caller: Caller, instance_id: uuid.UUID, arguments: Mapping[str, str]
) -> tuple[Instance, uuid.UUID]:
    """Begin `attach_interface`. Returns the instance and the port of the new card, also while others are added. Raises
    what `instance_act` raises.
    """
    with transaction.atomic():
        # Of two who add at once one waits here, so that what is new is one's own.
        Instance.objects.select_for_update().filter(pk=instance_id).first()
        ports = Port.objects.filter(instance_uuid=instance_id)
        before = list(ports.values_list("pk", flat=True))
        changed = instance_act(
            caller=caller, instance_id=instance_id, action=ATTACH_INTERFACE.name, arguments=arguments
        )
        return changed, ports.exclude(pk__in=before).values_list("pk", flat=True).get()
