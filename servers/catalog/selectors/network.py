"""Reading networks: everybody sees all of them."""

import uuid

from django.db.models import QuerySet

from controlplane.kernel.errors import NotFound
from servers.models import Network


def networks_visible() -> QuerySet[Network]:
    """All networks."""
    return Network.objects.all()


def network_get(*, network_id: uuid.UUID) -> Network:
    """Raises NotFound."""
    network = Network.objects.filter(pk=network_id).first()
    if network is None:
        raise NotFound(f"Network {network_id} does not exist.")
    return network


def network_default() -> Network | None:
    """The network of instances that ask for none; None while there is no default."""
    return Network.objects.filter(is_default=True).first()
