"""Networks, to read."""

from rest_framework.viewsets import ReadOnlyModelViewSet

from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.catalog import NetworkOutput
from servers.catalog.selectors.network import network_get
from servers.filtersets import NetworkFilterSet
from servers.models import Network


class NetworkViewSet(ReadOnlyModelViewSet[Network]):
    """What instances can be connected to."""

    policy = {"list": "networks:read", "retrieve": "networks:read"}
    queryset = Network.objects.all()
    serializer_class = NetworkOutput
    filterset_class = NetworkFilterSet
    ordering_fields = ["name", "created_at"]

    def get_object(self) -> Network:
        """The one that the address names."""
        return network_get(network_id=uuid_in_path(self.kwargs["pk"], what="Network"))
