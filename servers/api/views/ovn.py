"""OVN under /api/, for administrators: how far it is, what it does not have yet, and a comparison now."""

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.mixins import ListModelMixin
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from servers.api.serializers.ovn import OvnChangeOutput, OvnStatusOutput
from servers.filtersets_network import OvnChangeFilterSet
from servers.models import OvnChange
from servers.networks.selectors.ovn import ovn_changes, ovn_status
from servers.networks.services.ovn_changes import ovn_whole_request


class OvnView(APIView):
    """How far OVN is, as the conductor that tells it wrote last: nobody here waits for OVN itself."""

    policy = {"get": "drift:read"}

    @extend_schema(operation_id="ovn_retrieve", responses=OvnStatusOutput)
    def get(self, request: Request) -> Response:
        """The connection, what the last comparison found, and how much waits."""
        return Response(OvnStatusOutput(ovn_status()).data)


class OvnCheckView(APIView):
    """A comparison now."""

    policy = {"post": "drift:write"}

    @extend_schema(operation_id="ovn_check", request=None, responses={202: OvnStatusOutput})
    def post(self, request: Request) -> Response:
        """Have everything compared with OVN, and put right what differs. 409 where OVN is not used."""
        ovn_whole_request()
        return Response(OvnStatusOutput(ovn_status()).data, status=202)


class OvnChangeViewSet(ListModelMixin, GenericViewSet[OvnChange]):
    """Changes that OVN does not have yet, the oldest first; one with a problem was refused, and is tried again."""

    policy = {"list": "drift:read"}
    queryset = OvnChange.objects.none()
    serializer_class = OvnChangeOutput
    filterset_class = OvnChangeFilterSet

    def get_queryset(self) -> QuerySet[OvnChange]:
        return ovn_changes()
