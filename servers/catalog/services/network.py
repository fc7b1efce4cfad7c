"""Networks: names for what hypervisors already have. For admins, which the policy of the door decides."""

import uuid

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from controlplane.kernel.errors import Conflict, NotFound
from servers.fields import name_reasons, refuse_if
from servers.models import Network


def network_create(*, name: str, hypervisor_network: str, is_default: bool = False) -> Network:
    """A new network; as default it takes the place of the one before. Raises InvalidFields, Conflict."""
    refuse_if({"name": name_reasons(name), "hypervisor_network": name_reasons(hypervisor_network)})
    try:
        with transaction.atomic():
            if is_default:
                Network.objects.filter(is_default=True).update(is_default=False, updated_at=Now())
            return Network.objects.create(name=name, hypervisor_network=hypervisor_network, is_default=is_default)
    except IntegrityError as error:
        raise Conflict(f"A network named {name} exists already.", field="name") from error


def network_delete(*, network_id: uuid.UUID) -> None:
    """Delete a network; ports have their own copies of it. Raises NotFound."""
    deleted, _ = Network.objects.filter(pk=network_id).delete()
    if not deleted:
        raise NotFound(f"Network {network_id} does not exist.")
