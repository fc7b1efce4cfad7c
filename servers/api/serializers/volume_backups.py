"""Backups of volumes as they are asked for and shown."""

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from servers.models import VolumeBackup
from servers.volumes.domain.transitions import BACKUP_RESETTABLE


class VolumeBackupInput(StrictInput):
    """A new backup of a volume as it is now, or of one of its snapshots."""

    volume = serializers.UUIDField()
    snapshot = serializers.UUIDField(required=False, help_text="Of this one; else one is made for it.")
    name = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    incremental = serializers.BooleanField(
        required=False,
        help_text="Only what differs from the last backup: of those whose snapshot is still there, if any is.",
    )
    full_after = serializers.IntegerField(
        required=False,
        min_value=0,
        help_text="A full one after so many increments, and where there is no backup yet; 0: never.",
    )
    keep_snapshot = serializers.BooleanField(
        required=False,
        help_text="The snapshot stays in the volume's pool, so that the next one need not read the backups.",
    )


class VolumeBackupChange(StrictInput):
    """What may change of a backup."""

    name = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)


class VolumeBackupRestore(StrictInput):
    """The new volume; or, with `volume`, one that is there, whose bytes are lost, and nothing beside."""

    volume = serializers.UUIDField(required=False, help_text="One that nobody has and that is large enough.")
    name = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    size_gib = serializers.IntegerField(required=False, min_value=1, help_text="At least that of the backup.")
    volume_type = serializers.CharField(required=False, help_text="Name or id.")


class VolumeBackupStateInput(StrictInput):
    """A state that an administrator writes."""

    state = serializers.ChoiceField(choices=sorted(one.value for one in BACKUP_RESETTABLE))


class VolumeBackupOutput(serializers.ModelSerializer[VolumeBackup]):
    """A backup. `parent`: it has only what differs from that one. `size_bytes`: what it takes in the store;
    `done_bytes`: how far its host is. `is_consistent`: the guest's file systems stood still.
    """

    is_incremental = serializers.SerializerMethodField()
    has_dependents = serializers.BooleanField(
        read_only=True, help_text="Others rest on it, and are to be deleted before."
    )

    class Meta:
        model = VolumeBackup
        fields = [
            "id",
            "name",
            "description",
            "volume_id",
            "volume_name",
            "project",
            "user_id",
            "parent",
            "is_incremental",
            "has_dependents",
            "snapshot_id",
            "keeps_snapshot",
            "size_gib",
            "size_bytes",
            "done_bytes",
            "checksum",
            "state",
            "fault",
            "is_encrypted",
            "is_consistent",
            "created_at",
            "updated_at",
        ]

    def get_is_incremental(self, backup: VolumeBackup) -> bool:
        """Whether it rests on another."""
        return backup.parent_id is not None
