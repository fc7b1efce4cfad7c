"""Backups of the volumes of the caller's project; all for admins."""

import uuid

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ReadOnlyModelViewSet

from computeagent.protocol.volumes import VolumeSourceKind
from controlplane.identity.api.callers import caller_of
from controlplane.identity.domain import Caller
from controlplane.infra.api.identifiers import uuid_in_path
from controlplane.kernel.errors import InvalidFields
from servers.api.query_flags import flag_in_query
from servers.api.serializers.volume_backups import (
    VolumeBackupChange,
    VolumeBackupInput,
    VolumeBackupOutput,
    VolumeBackupRestore,
    VolumeBackupStateInput,
)
from servers.api.serializers.volumes import VolumeOutput
from servers.filtersets_volume import VolumeBackupFilter
from servers.models import VolumeBackup
from servers.volumes.backups.removal import backup_force_delete
from servers.volumes.domain.states import BackupState
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.selectors.backups import backup_get, backups_shown
from servers.volumes.selectors.volumes import volume_get
from servers.volumes.services.backups import (
    BackupRequest,
    backup_create,
    backup_delete,
    backup_reset_state,
    backup_restore,
    backup_update,
)
from servers.volumes.services.volumes import volume_create


class VolumeBackupViewSet(ReadOnlyModelViewSet[VolumeBackup]):
    """Copies of volumes in the store of images, which outlive their volumes."""

    policy = {
        "list": "volume_backups:read",
        "retrieve": "volume_backups:read",
        "create": "volume_backups:write",
        "partial_update": "volume_backups:write",
        "destroy": "volume_backups:write",
        "restore": "volumes:write",
        "reset_state": "volumes:reset_state",
    }
    queryset = VolumeBackup.objects.none()
    serializer_class = VolumeBackupOutput
    filterset_class = VolumeBackupFilter
    ordering_fields = ["name", "size_gib", "size_bytes", "state", "created_at"]

    def get_queryset(self) -> QuerySet[VolumeBackup]:
        """What the caller may see."""
        return backups_shown(caller_of(self.request))

    def get_object(self) -> VolumeBackup:
        """The one that the address names."""
        return backup_get(caller=caller_of(self.request), backup_id=uuid_in_path(self.kwargs["pk"], what="Backup"))

    @extend_schema(request=VolumeBackupInput, responses={202: VolumeBackupOutput})
    def create(self, request: Request) -> Response:
        """Asks for a backup: `creating` until its bytes are in the store. The volume is used as ever meanwhile."""
        body = VolumeBackupInput(data=request.data)
        body.is_valid(raise_exception=True)
        values = body.validated_data
        wanted = BackupRequest(
            volume_id=values["volume"],
            snapshot_id=values.get("snapshot"),
            name=values.get("name", ""),
            description=values.get("description", ""),
            is_incremental=values.get("incremental", False),
            full_after=values.get("full_after", 0),
            keeps_snapshot=values.get("keep_snapshot", False),
        )
        return self._shown(backup_create(caller=caller_of(request), request=wanted), status.HTTP_202_ACCEPTED)

    @extend_schema(request=VolumeBackupChange, responses=VolumeBackupOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Changes what is said of it."""
        body = VolumeBackupChange(data=request.data)
        body.is_valid(raise_exception=True)
        backup_id = uuid_in_path(pk, what="Backup")
        return self._shown(backup_update(caller=caller_of(request), backup_id=backup_id, changes=body.validated_data))

    @extend_schema(
        parameters=[
            OpenApiParameter("force", bool, description="Admins: in any state; what is under way is given up.")
        ],
        responses={202: None},
    )
    def destroy(self, request: Request, pk: str) -> Response:
        """Has it removed. One on which others rest goes after them."""
        delete = backup_force_delete if flag_in_query(request, "force") else backup_delete
        delete(caller=caller_of(request), backup_id=uuid_in_path(pk, what="Backup"))
        return Response(status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=VolumeBackupRestore, responses={202: VolumeOutput})
    @action(detail=True, methods=["post"])
    def restore(self, request: Request, pk: str) -> Response:
        """Makes a new volume of it, as a volume of source `backup` is made; or restores it into one that is there."""
        body = VolumeBackupRestore(data=request.data)
        body.is_valid(raise_exception=True)
        caller, values = caller_of(request), body.validated_data
        backup = backup_get(caller=caller, backup_id=uuid_in_path(pk, what="Backup"))
        if "volume" in values:
            if others := sorted(set(values) - {"volume"}):
                raise InvalidFields({name: ["Says what a new volume is to be."] for name in others})
            restored = backup_restore(caller=caller, backup_id=backup.pk, volume_id=values["volume"])
            return self._volume(caller, restored.pk)
        wanted = VolumeRequest(
            name=values.get("name", backup.volume_name),
            size_gib=values.get("size_gib", backup.size_gib),
            volume_type=values.get("volume_type", ""),
            source_kind=VolumeSourceKind.BACKUP,
            source_id=backup.pk,
        )
        return self._volume(caller, volume_create(caller=caller, request=wanted).pk)

    @extend_schema(request=VolumeBackupStateInput, responses=VolumeBackupOutput)
    @action(detail=True, methods=["post"], url_path="reset-state")
    def reset_state(self, request: Request, pk: str) -> Response:
        """Writes its state. For admins; what is under way is given up."""
        body = VolumeBackupStateInput(data=request.data)
        body.is_valid(raise_exception=True)
        backup_id, state = uuid_in_path(pk, what="Backup"), BackupState(body.validated_data["state"])
        return self._shown(backup_reset_state(backup_id=backup_id, state=state))

    @staticmethod
    def _volume(caller: Caller, volume_id: uuid.UUID) -> Response:
        shown = VolumeOutput(volume_get(caller=None, volume_id=volume_id), context={"caller": caller})
        return Response(shown.data, status=status.HTTP_202_ACCEPTED)

    def _shown(self, backup: VolumeBackup, code: int = status.HTTP_200_OK) -> Response:
        return Response(VolumeBackupOutput(backup_get(caller=None, backup_id=backup.pk)).data, status=code)
