"""Reading networks: everybody sees all of them."""

import uuid

from controlplane.kernel.errors import NotFound
from servers.models import Network


def network_get(*, network_id: uuid.UUID) -> Network:
    """The network with this id. Raises NotFound."""
    network = Network.objects.filter(pk=network_id).first()
    if network is None:
        raise NotFound(f"Network {network_id} does not exist.")
    return network
