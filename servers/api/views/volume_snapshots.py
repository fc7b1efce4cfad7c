"""Snapshots of the volumes of the caller's project; all for admins."""

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
    VolumeSnapshotChange,
    VolumeSnapshotInput,
    VolumeSnapshotOutput,
    VolumeSnapshotStateInput,
)
from servers.filtersets_volume import VolumeSnapshotFilter
from servers.models import VolumeSnapshot
from servers.volumes.domain.states import VolumeSnapshotState
from servers.volumes.selectors.volumes import snapshot_get, snapshots_visible
from servers.volumes.services.snapshots import (
    SnapshotRequest,
    snapshot_create,
    snapshot_delete,
    snapshot_reset_state,
    snapshot_update,
)


class VolumeSnapshotViewSet(ReadOnlyModelViewSet[VolumeSnapshot]):
    """A volume's bytes of one moment, in the volume's own pool."""

    policy = {
        "list": "volume_snapshots:read",
        "retrieve": "volume_snapshots:read",
        "create": "volume_snapshots:write",
        "partial_update": "volume_snapshots:write",
        "destroy": "volume_snapshots:write",
        "reset_state": "volumes:reset_state",
    }
    queryset = VolumeSnapshot.objects.none()
    serializer_class = VolumeSnapshotOutput
    filterset_class = VolumeSnapshotFilter
    ordering_fields = ["name", "size_gib", "state", "created_at"]

    def get_queryset(self) -> QuerySet[VolumeSnapshot]:
        """What the caller may see."""
        return snapshots_visible(caller_of(self.request))

    def get_object(self) -> VolumeSnapshot:
        """The one that the address names."""
        snapshot_id = uuid_in_path(self.kwargs["pk"], what="Snapshot")
        return snapshot_get(caller=caller_of(self.request), snapshot_id=snapshot_id)

    @extend_schema(request=VolumeSnapshotInput, responses={202: VolumeSnapshotOutput})
    def create(self, request: Request) -> Response:
        """Asks for a snapshot: it is `creating` until a host has made it. Of an attached volume where its pool can."""
        body = VolumeSnapshotInput(data=request.data)
        body.is_valid(raise_exception=True)
        values = dict(body.validated_data)
        wanted = SnapshotRequest(volume_id=values.pop("volume"), **values)
        return self._shown(snapshot_create(caller=caller_of(request), request=wanted), status.HTTP_202_ACCEPTED)

    @extend_schema(request=VolumeSnapshotChange, responses=VolumeSnapshotOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Changes what is said of it."""
        body = VolumeSnapshotChange(data=request.data)
        body.is_valid(raise_exception=True)
        snapshot_id = uuid_in_path(pk, what="Snapshot")
        return self._shown(
            snapshot_update(caller=caller_of(request), snapshot_id=snapshot_id, changes=body.validated_data)
        )

    @extend_schema(
        parameters=[
            OpenApiParameter("force", bool, description="Admins: in any state; what is under way is given up.")
        ],
        responses={202: None},
    )
    def destroy(self, request: Request, pk: str) -> Response:
        """Has it removed. Volumes that were made of it go on."""
        snapshot_delete(
            caller=caller_of(request),
            snapshot_id=uuid_in_path(pk, what="Snapshot"),
            is_forced=flag_in_query(request, "force"),
        )
        return Response(status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=VolumeSnapshotStateInput, responses=VolumeSnapshotOutput)
    @action(detail=True, methods=["post"], url_path="reset-state")
    def reset_state(self, request: Request, pk: str) -> Response:
        """Writes its state. For admins; what is under way is given up."""
        body = VolumeSnapshotStateInput(data=request.data)
        body.is_valid(raise_exception=True)
        snapshot_id, state = uuid_in_path(pk, what="Snapshot"), VolumeSnapshotState(body.validated_data["state"])
        return self._shown(snapshot_reset_state(snapshot_id=snapshot_id, state=state))

    def _shown(self, snapshot: VolumeSnapshot, code: int = status.HTTP_200_OK) -> Response:
        row = snapshot_get(caller=None, snapshot_id=snapshot.pk)
        return Response(VolumeSnapshotOutput(row).data, status=code)
