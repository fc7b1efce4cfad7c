"""Volumes, snapshots and transfers: read here, and changed by actions, each of which is a service."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from controlplane.identity.api.callers import caller_of
from controlplane.infra.admin import destructive
from controlplane.infra.admin.bases import ReadOnlyAdmin, ReadOnlyInline, run_on_each
from controlplane.infra.admin.filters import named
from controlplane.infra.admin.names import title_column
from controlplane.kernel.texts import gettext_noop
from servers.admin.bulk_jobs import bulk_admin_action
from servers.bulk.domain import BULK_RULES, BulkKind
from servers.instances.actions.volumes import DETACH_VOLUME
from servers.instances.services.act import instance_act
from servers.models import (
    BlockDeviceMapping,
    Volume,
    VolumeAttachment,
    VolumeBackup,
    VolumeKey,
    VolumeSnapshot,
    VolumeTransfer,
)
from servers.volumes.backups.removal import backup_force_delete
from servers.volumes.domain.states import BackupState, VolumeSnapshotState, VolumeState
from servers.volumes.services.backups import backup_delete, backup_reset_state
from servers.volumes.services.snapshots import snapshot_delete, snapshot_reset_state
from servers.volumes.services.transfers import transfer_delete
from servers.volumes.services.volumes import volume_delete, volume_reset_state

DETACH_MANY = BULK_RULES[BulkKind.VOLUME]["detach"].question


class AttachmentInline(ReadOnlyInline):
    """The instances that have the volume."""

    model = VolumeAttachment
    fields = ["instance_uuid", "state", "device", "is_shared", "is_read_only", "problem", "attached_at"]


class SnapshotInline(ReadOnlyInline):
    """The snapshots of the volume."""

    model = VolumeSnapshot
    fields = ["name", "state", "size_gib", "is_consistent", "created_at"]
    show_change_link = True


@admin.register(Volume)
class VolumeAdmin(ReadOnlyAdmin):
    """Volumes of all projects."""

    list_display = [
        title_column(),
        "project",
        "size_gib",
        "state",
        "volume_type",
        "pool",
        "instance_uuid",
        "created_at",
    ]
    list_filter = [
        "state", "is_bootable", "is_encrypted", "is_multiattach",
        named("project"), named("volume_type"), named("pool"),
    ]  # fmt: skip
    list_select_related = ["project", "volume_type", "pool"]
    search_fields = ["id", "name", "project__name", "instance_uuid", "fault"]
    inlines = [AttachmentInline, SnapshotInline]
    actions = [
        bulk_admin_action(
            BulkKind.VOLUME,
            "detach",
            name="detach",
            description=gettext_noop("Take the chosen volumes from their instances"),
        ),
        bulk_admin_action(
            BulkKind.VOLUME, "delete", name="delete", description=gettext_noop("Delete the chosen volumes")
        ),
        "delete_with_snapshots",
        "force_delete",
        "reset_to_available",
        "reset_to_error",
    ]

    @destructive(
        description=gettext_noop("Delete the chosen volumes with their snapshots"),
        permissions=["operate"],
        question=gettext_noop(
            "The bytes of these volumes and of their snapshots are lost. Those that an instance has stay."
        ),
    )
    def delete_with_snapshots(self, request: HttpRequest, queryset: QuerySet[Volume]) -> None:
        run_on_each(
            self,
            request,
            queryset,
            lambda one: volume_delete(caller=None, volume_id=one.pk, with_snapshots=True),
            said=gettext_noop("%(count)s accepted."),
        )

    @destructive(
        description=gettext_noop("Delete the chosen volumes by force"),
        permissions=["operate"],
        question=gettext_noop(
            "Whatever is being done to these volumes is given up, and their bytes are lost. One whose pool no "
            "host reaches goes without its bytes, which are removed when its host returns."
        ),
    )
    def force_delete(self, request: HttpRequest, queryset: QuerySet[Volume]) -> None:
        run_on_each(
            self,
            request,
            queryset,
            lambda one: volume_delete(caller=None, volume_id=one.pk, is_forced=True),
            said=gettext_noop("%(count)s accepted."),
        )

    @destructive(
        description=gettext_noop("Set the state of the chosen volumes to available"),
        permissions=["operate"],
        question=gettext_noop(
            "Whatever is being done to these volumes is given up. Nothing is looked at: it is you who knows that "
            "their bytes are whole."
        ),
    )
    def reset_to_available(self, request: HttpRequest, queryset: QuerySet[Volume]) -> None:
        self._reset(request, queryset, VolumeState.AVAILABLE)

    @destructive(
        description=gettext_noop("Set the state of the chosen volumes to error"),
        permissions=["operate"],
        question=gettext_noop(
            "Whatever is being done to these volumes is given up, and their owners can only delete them."
        ),
    )
    def reset_to_error(self, request: HttpRequest, queryset: QuerySet[Volume]) -> None:
        self._reset(request, queryset, VolumeState.ERROR)

    def _reset(self, request: HttpRequest, queryset: QuerySet[Volume], state: VolumeState) -> None:
        run_on_each(self, request, queryset, lambda one: volume_reset_state(volume_id=one.pk, state=state))


@admin.register(VolumeSnapshot)
class VolumeSnapshotAdmin(ReadOnlyAdmin):
    """Snapshots of volumes of all projects."""

    list_display = [title_column(), "volume", "project", "size_gib", "state", "is_consistent", "created_at"]
    list_filter = ["state", "is_consistent", named("project")]
    list_select_related = ["project", "volume"]
    search_fields = ["id", "name", "volume__id", "volume__name", "project__name"]
    actions = ["delete", "force_delete", "reset_to_available", "reset_to_error"]

    @destructive(
        description=gettext_noop("Delete the chosen snapshots"),
        permissions=["operate"],
        question=gettext_noop("The bytes of these snapshots are lost. Volumes that were made of them go on."),
    )
    def delete(self, request: HttpRequest, queryset: QuerySet[VolumeSnapshot]) -> None:
        run_on_each(
            self,
            request,
            queryset,
            lambda one: snapshot_delete(caller=None, snapshot_id=one.pk),
            said=gettext_noop("%(count)s accepted."),
        )

    @destructive(
        description=gettext_noop("Delete the chosen snapshots by force"),
        permissions=["operate"],
        question=gettext_noop("Whatever is being done to these snapshots is given up, and their bytes are lost."),
    )
    def force_delete(self, request: HttpRequest, queryset: QuerySet[VolumeSnapshot]) -> None:
        run_on_each(
            self,
            request,
            queryset,
            lambda one: snapshot_delete(caller=None, snapshot_id=one.pk, is_forced=True),
            said=gettext_noop("%(count)s accepted."),
        )

    @destructive(
        description=gettext_noop("Set the state of the chosen snapshots to available"),
        permissions=["operate"],
        question=gettext_noop("Nothing is looked at: it is you who knows that their bytes are whole."),
    )
    def reset_to_available(self, request: HttpRequest, queryset: QuerySet[VolumeSnapshot]) -> None:
        self._reset(request, queryset, VolumeSnapshotState.AVAILABLE)

    @destructive(
        description=gettext_noop("Set the state of the chosen snapshots to error"),
        permissions=["operate"],
        question=gettext_noop(
            "Whatever is being done to these snapshots is given up, and their owners can only delete them."
        ),
    )
    def reset_to_error(self, request: HttpRequest, queryset: QuerySet[VolumeSnapshot]) -> None:
        self._reset(request, queryset, VolumeSnapshotState.ERROR)

    def _reset(self, request: HttpRequest, queryset: QuerySet[VolumeSnapshot], state: VolumeSnapshotState) -> None:
        run_on_each(self, request, queryset, lambda one: snapshot_reset_state(snapshot_id=one.pk, state=state))


@admin.register(VolumeTransfer)
class VolumeTransferAdmin(ReadOnlyAdmin):
    """Offers of volumes to other projects, without the digests of their words."""

    fields = ["id", "name", "volume", "has_snapshots", "expires_at", "created_at"]
    list_display = [title_column(), "volume", "has_snapshots", "expires_at", "created_at"]
    list_select_related = ["volume"]
    search_fields = ["id", "name", "volume__id", "volume__name"]
    actions = ["take_back"]

    @destructive(
        description=gettext_noop("Take the chosen offers back"),
        permissions=["operate"],
        question=gettext_noop("Whoever has the word of one of these offers cannot take its volume any more."),
    )
    def take_back(self, request: HttpRequest, queryset: QuerySet[VolumeTransfer]) -> None:
        run_on_each(self, request, queryset, lambda one: transfer_delete(caller=None, transfer_id=one.pk))


@admin.register(VolumeAttachment)
class VolumeAttachmentAdmin(ReadOnlyAdmin):
    """Which instance has which volume."""

    list_display = ["volume", "instance_uuid", "state", "device", "is_shared", "is_read_only", "attached_at"]
    list_filter = ["state", "is_shared", "is_read_only"]
    list_select_related = ["volume"]
    search_fields = ["id", "instance_uuid", "volume__id", "volume__name"]
    actions = ["detach"]

    @destructive(
        description=gettext_noop("Detach the volumes of the chosen attachments"),
        permissions=["operate"],
        question=DETACH_MANY,
    )
    def detach(self, request: HttpRequest, queryset: QuerySet[VolumeAttachment]) -> None:
        run_on_each(
            self,
            request,
            queryset,
            lambda one: instance_act(
                caller=caller_of(request),
                instance_id=one.instance_uuid,
                action=DETACH_VOLUME.name,
                arguments={"volume": str(one.volume_id)},
            ),
            said=gettext_noop("%(count)s accepted."),
        )


@admin.register(VolumeBackup)
class VolumeBackupAdmin(ReadOnlyAdmin):
    """Backups of volumes of all projects."""

    list_display = [title_column(), "volume_name", "project", "size_gib", "state", "parent", "created_at"]
    list_filter = ["state", "is_encrypted", "is_consistent", named("project")]
    list_select_related = ["project", "parent"]
    search_fields = ["id", "name", "volume_id", "volume_name", "project__name"]
    actions = ["delete", "force_delete", "reset_to_available", "reset_to_error"]

    @destructive(
        description=gettext_noop("Delete the chosen backups"),
        permissions=["operate"],
        question=gettext_noop("The bytes of these backups are lost. Volumes that were restored from them go on."),
    )
    def delete(self, request: HttpRequest, queryset: QuerySet[VolumeBackup]) -> None:
        run_on_each(
            self,
            request,
            queryset,
            lambda one: backup_delete(caller=None, backup_id=one.pk),
            said=gettext_noop("%(count)s accepted."),
        )

    @destructive(
        description=gettext_noop("Delete the chosen backups by force"),
        permissions=["operate"],
        question=gettext_noop(
            "Whatever is being done to these backups is given up, and their bytes are lost. Where the image store "
            "does not answer, they go without their bytes."
        ),
    )
    def force_delete(self, request: HttpRequest, queryset: QuerySet[VolumeBackup]) -> None:
        run_on_each(self, request, queryset, lambda one: backup_force_delete(caller=None, backup_id=one.pk))

    @destructive(
        description=gettext_noop("Set the state of the chosen backups to available"),
        permissions=["operate"],
        question=gettext_noop(
            "Whatever is being done to these backups is given up. Those whose bytes did not all come stay as they are."
        ),
    )
    def reset_to_available(self, request: HttpRequest, queryset: QuerySet[VolumeBackup]) -> None:
        self._reset(request, queryset, BackupState.AVAILABLE)

    @destructive(
        description=gettext_noop("Set the state of the chosen backups to error"),
        permissions=["operate"],
        question=gettext_noop(
            "Whatever is being done to these backups is given up, and their owners can only delete them."
        ),
    )
    def reset_to_error(self, request: HttpRequest, queryset: QuerySet[VolumeBackup]) -> None:
        self._reset(request, queryset, BackupState.ERROR)

    def _reset(self, request: HttpRequest, queryset: QuerySet[VolumeBackup], state: BackupState) -> None:
        run_on_each(self, request, queryset, lambda one: backup_reset_state(backup_id=one.pk, state=state))


@admin.register(VolumeKey)
class VolumeKeyAdmin(ReadOnlyAdmin):
    """Which volumes and backups have a passphrase. It is shown to nobody, sealed or not."""

    fields = ["owner_id"]
    list_display = ["owner_id"]
    search_fields = ["owner_id"]


@admin.register(BlockDeviceMapping)
class BlockDeviceMappingAdmin(ReadOnlyAdmin):
    """The disks of instances whose requests named them one by one."""

    list_display = [
        "instance_uuid",
        "position",
        "source_type",
        "destination_type",
        "volume_id",
        "device",
        "boot_index",
    ]
    list_filter = ["source_type", "destination_type", "delete_on_termination"]
    search_fields = ["id", "instance_uuid", "volume_id", "source_id", "tag"]

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Any]":
        return super().get_queryset(request).order_by("-created_at", "instance_uuid", "position")
