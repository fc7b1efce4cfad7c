"""Volumes of the caller's project; all for admins."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.query_flags import flag_in_query
from servers.api.serializers.volumes import (
    VolumeChange,
    VolumeExtendInput,
    VolumeInput,
    VolumeOutput,
    VolumeRetypeInput,
    VolumeRevertInput,
    VolumeStateInput,
    VolumeUploadedOutput,
    VolumeUploadInput,
)
from servers.filtersets_volume import VolumeFilter
from servers.models import Volume
from servers.volumes.domain.states import VolumeState
from servers.volumes.selectors.volumes import volume_get, volumes_shown
from servers.volumes.services.retype import volume_retype
from servers.volumes.services.uploads import volume_upload
from servers.volumes.services.volumes import (
    volume_create,
    volume_delete,
    volume_extend,
    volume_reset_state,
    volume_revert,
    volume_update,
)


class VolumeViewSet(ReadOnlyModelViewSet[Volume]):
    """Disks that outlive instances, with their states spelled as Cinder's."""

    policy = {
        "list": "volumes:read",
        "retrieve": "volumes:read",
        "create": "volumes:write",
        "partial_update": "volumes:write",
        "destroy": "volumes:write",
        "extend": "volumes:write",
        "revert": "volumes:write",
        "retype": "volumes:write",
        "upload_image": "volumes:write",
        "reset_state": "volumes:reset_state",
    }
    queryset = Volume.objects.none()
    serializer_class = VolumeOutput
    filterset_class = VolumeFilter
    ordering_fields = ["name", "size_gib", "state", "created_at"]

    def get_queryset(self) -> QuerySet[Volume]:
        """What the caller may see."""
        return volumes_shown(caller_of(self.request))

    def get_serializer_context(self) -> dict[str, Any]:
        """Who asks: pools are for administrators."""
        return {**super().get_serializer_context(), "caller": caller_of(self.request)}

    def get_object(self) -> Volume:
        """The one that the address names."""
        volume_id = uuid_in_path(self.kwargs["pk"], what="Volume")
        return volume_get(caller=caller_of(self.request), volume_id=volume_id)

    @extend_schema(request=VolumeInput, responses={202: VolumeOutput})
    def create(self, request: Request) -> Response:
        """Asks for a volume: it is `creating` until a host has made it."""
        body = VolumeInput(data=request.data)
        body.is_valid(raise_exception=True)
        return self._accepted(volume_create(caller=caller_of(request), request=body.typed()))

    @extend_schema(request=VolumeChange, responses=VolumeOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Changes what is said of it. Whether it is read-only only while no instance has it."""
        body = VolumeChange(data=request.data)
        body.is_valid(raise_exception=True)
        volume_id = uuid_in_path(pk, what="Volume")
        volume = volume_update(caller=caller_of(request), volume_id=volume_id, changes=body.validated_data)
        return Response(self.get_serializer(volume).data)

    @extend_schema(
        parameters=[
            OpenApiParameter("with_snapshots", bool, description="Its snapshots go with it."),
            OpenApiParameter("force", bool, description="Admins: in any state; what is under way is given up."),
        ],
        responses={202: None},
    )
    def destroy(self, request: Request, pk: str) -> Response:
        """Has it removed: it is `deleting` until a host has removed its bytes, then it is gone."""
        volume_delete(
            caller=caller_of(request),
            volume_id=uuid_in_path(pk, what="Volume"),
            with_snapshots=flag_in_query(request, "with_snapshots"),
            is_forced=flag_in_query(request, "force"),
        )
        return Response(status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=VolumeExtendInput, responses={202: VolumeOutput})
    @action(detail=True, methods=["post"])
    def extend(self, request: Request, pk: str) -> Response:
        """Has it grow; on a running guest, too, where its pool can do that."""
        body = VolumeExtendInput(data=request.data)
        body.is_valid(raise_exception=True)
        volume_id, size_gib = uuid_in_path(pk, what="Volume"), body.validated_data["size_gib"]
        return self._accepted(volume_extend(caller=caller_of(request), volume_id=volume_id, size_gib=size_gib))

    @extend_schema(request=VolumeRevertInput, responses={202: VolumeOutput})
    @action(detail=True, methods=["post"])
    def revert(self, request: Request, pk: str) -> Response:
        """Has it go back to the newest of its snapshots. What was written since is lost."""
        body = VolumeRevertInput(data=request.data)
        body.is_valid(raise_exception=True)
        volume_id, snapshot_id = uuid_in_path(pk, what="Volume"), body.validated_data["snapshot"]
        return self._accepted(volume_revert(caller=caller_of(request), volume_id=volume_id, snapshot_id=snapshot_id))

    @extend_schema(request=VolumeRetypeInput, responses={202: VolumeOutput})
    @action(detail=True, methods=["post"])
    def retype(self, request: Request, pk: str) -> Response:
        """Gives it another type, whose limits count at once; `may_move`: by a copy into another pool where one is
        needed.
        """
        body = VolumeRetypeInput(data=request.data)
        body.is_valid(raise_exception=True)
        volume_id = uuid_in_path(pk, what="Volume")
        return self._accepted(volume_retype(caller=caller_of(request), volume_id=volume_id, **body.validated_data))

    @extend_schema(request=VolumeUploadInput, responses={202: VolumeUploadedOutput})
    @action(detail=True, methods=["post"], url_path="upload-image")
    def upload_image(self, request: Request, pk: str) -> Response:
        """Makes an image of what it has: it is `uploading` until a host has sent all."""
        body = VolumeUploadInput(data=request.data)
        body.is_valid(raise_exception=True)
        volume_id, name = uuid_in_path(pk, what="Volume"), body.validated_data["name"]
        made = volume_upload(caller=caller_of(request), volume_id=volume_id, name=name)
        shown = self.get_serializer(volume_get(caller=None, volume_id=made.volume.pk)).data
        return Response({**shown, "image_id": str(made.image.pk)}, status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=VolumeStateInput, responses=VolumeOutput)
    @action(detail=True, methods=["post"], url_path="reset-state")
    def reset_state(self, request: Request, pk: str) -> Response:
        """Writes its state. For admins; what is under way is given up."""
        body = VolumeStateInput(data=request.data)
        body.is_valid(raise_exception=True)
        volume_id, state = uuid_in_path(pk, what="Volume"), VolumeState(body.validated_data["state"])
        volume = volume_reset_state(volume_id=volume_id, state=state)
        return Response(self.get_serializer(volume_get(caller=None, volume_id=volume.pk)).data)

    def _accepted(self, volume: Volume) -> Response:
        row = volume_get(caller=None, volume_id=volume.pk)
        return Response(self.get_serializer(row).data, status=status.HTTP_202_ACCEPTED)
