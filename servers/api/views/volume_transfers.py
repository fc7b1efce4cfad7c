"""Offers of volumes to other projects."""

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.volumes import (
    VolumeOutput,
    VolumeTransferCreated,
    VolumeTransferInput,
    VolumeTransferOutput,
    VolumeTransferWordInput,
)
from servers.models import VolumeTransfer
from servers.volumes.selectors.volumes import transfer_get, transfers_visible, volume_get
from servers.volumes.services.transfers import transfer_accept, transfer_create, transfer_delete


class VolumeTransferViewSet(ReadOnlyModelViewSet[VolumeTransfer]):
    """What the caller's project offers. Who is to take a volume is told the offer's id and word by who made it."""

    policy = {
        "list": "volume_transfers:read",
        "retrieve": "volume_transfers:read",
        "create": "volume_transfers:write",
        "destroy": "volume_transfers:write",
        "accept": "volume_transfers:write",
    }
    queryset = VolumeTransfer.objects.none()
    serializer_class = VolumeTransferOutput
    ordering_fields = ["name", "expires_at", "created_at"]

    def get_queryset(self) -> QuerySet[VolumeTransfer]:
        """What the caller may see."""
        return transfers_visible(caller_of(self.request))

    def get_object(self) -> VolumeTransfer:
        """The one that the address names."""
        transfer_id = uuid_in_path(self.kwargs["pk"], what="Transfer")
        return transfer_get(caller=caller_of(self.request), transfer_id=transfer_id)

    @extend_schema(request=VolumeTransferInput, responses={201: VolumeTransferCreated})
    def create(self, request: Request) -> Response:
        """Offers a volume that nobody has. The answer has the word by which it is taken, this once."""
        body = VolumeTransferInput(data=request.data)
        body.is_valid(raise_exception=True)
        values = dict(body.validated_data)
        offer = transfer_create(caller=caller_of(request), volume_id=values.pop("volume"), **values)
        return Response(VolumeTransferCreated.of(offer), status=status.HTTP_201_CREATED)

    def destroy(self, request: Request, pk: str) -> Response:
        """Takes the offer back."""
        transfer_delete(caller=caller_of(request), transfer_id=uuid_in_path(pk, what="Transfer"))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=VolumeTransferWordInput, responses=VolumeOutput)
    @action(detail=True, methods=["post"])
    def accept(self, request: Request, pk: str) -> Response:
        """Has the caller's project own the volume, by the offer's word."""
        body = VolumeTransferWordInput(data=request.data)
        body.is_valid(raise_exception=True)
        caller, transfer_id = caller_of(request), uuid_in_path(pk, what="Transfer")
        volume = transfer_accept(caller=caller, transfer_id=transfer_id, word=body.validated_data["word"])
        return Response(VolumeOutput(volume_get(caller=None, volume_id=volume.pk), context={"caller": caller}).data)
