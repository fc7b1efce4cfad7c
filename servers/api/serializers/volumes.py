"""Volumes, snapshots and transfers in the API's JSON. Sizes are in GiB."""

from typing import Any

from rest_framework import serializers

from computeagent.protocol.volumes import VolumeSourceKind
from controlplane.infra.api.strict import StrictInput
from servers.models import Volume, VolumeAttachment, VolumeSnapshot, VolumeTransfer
from servers.volumes.domain.transitions import RESETTABLE, SNAPSHOT_RESETTABLE
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.services.transfers import TransferOffer

SOURCES = ("image", "snapshot", "volume", "backup")
"""Fields of a new volume that name its source; at most one of them is given."""


class VolumeChange(StrictInput):
    """What may change of a volume. Values are checked by the service."""

    name = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    metadata = serializers.JSONField(required=False, help_text="Texts by keys; replaces all that it has.")
    is_bootable = serializers.BooleanField(required=False, help_text="An instance may boot from it.")
    is_read_only = serializers.BooleanField(required=False, help_text="Instances may not write to it.")


class VolumeInput(StrictInput):
    """A new volume: blank, or of one image, snapshot, volume or backup."""

    size_gib = serializers.IntegerField(required=False, help_text="Left out: as large as its source needs.")
    name = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    metadata = serializers.JSONField(required=False)
    volume_type = serializers.CharField(required=False, help_text="Name or id; left out: the source's, or the default.")
    image = serializers.UUIDField(required=False)
    snapshot = serializers.UUIDField(required=False)
    volume = serializers.UUIDField(required=False)
    backup = serializers.UUIDField(required=False)
    availability_zone = serializers.CharField(required=False, help_text="Where the host of its pool is to be.")
    pool = serializers.CharField(required=False, help_text="Admins: name or id of the pool.")
    is_read_only = serializers.BooleanField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """One source at most."""
        named = [name for name in SOURCES if name in attrs]
        if len(named) > 1:
            raise serializers.ValidationError({named[1]: [f"It begins with the {named[0]} already: name one source."]})
        return attrs

    def typed(self) -> VolumeRequest:
        """The request as the service takes it."""
        values: dict[str, Any] = dict(self.validated_data)
        for name in SOURCES:
            if name in values:
                return VolumeRequest(source_kind=VolumeSourceKind(name), source_id=values.pop(name), **values)
        return VolumeRequest(**values)


class VolumeExtendInput(StrictInput):
    """The size that it is to have."""

    size_gib = serializers.IntegerField()


class VolumeRevertInput(StrictInput):
    """The newest snapshot of the volume."""

    snapshot = serializers.UUIDField()


class VolumeRetypeInput(StrictInput):
    """The type that it is to be of."""

    volume_type = serializers.CharField(help_text="Name or id.")
    may_move = serializers.BooleanField(
        default=False, help_text="Where its pool has no volumes of that type, it is copied into another one."
    )


class VolumeUploadInput(StrictInput):
    """The image that it becomes."""

    name = serializers.CharField(trim_whitespace=False, help_text="Name of the new image.")


class VolumeStateInput(StrictInput):
    """A state that an administrator writes."""

    state = serializers.ChoiceField(choices=sorted(one.value for one in RESETTABLE))


class VolumeSnapshotStateInput(StrictInput):
    """A state that an administrator writes."""

    state = serializers.ChoiceField(choices=sorted(one.value for one in SNAPSHOT_RESETTABLE))


class VolumeAttachmentOutput(serializers.ModelSerializer[VolumeAttachment]):
    """An instance that has the volume."""

    class Meta:
        model = VolumeAttachment
        fields = ["id", "instance_uuid", "state", "device", "is_shared", "is_read_only", "problem", "attached_at"]


class VolumeOutput(serializers.ModelSerializer[Volume]):
    """A volume. Its pool is told to administrators; `wanted_gib` is the size that it is being extended to, else 0."""

    volume_type = serializers.SerializerMethodField()
    volume_type_name = serializers.SerializerMethodField()
    pool = serializers.SerializerMethodField()
    pool_name = serializers.SerializerMethodField()
    image = serializers.SerializerMethodField()
    attachments = VolumeAttachmentOutput(many=True, read_only=True)

    class Meta:
        model = Volume
        fields = [
            "id",
            "name",
            "description",
            "project",
            "user_id",
            "size_gib",
            "wanted_gib",
            "state",
            "fault",
            "volume_type",
            "volume_type_name",
            "is_bootable",
            "is_multiattach",
            "is_encrypted",
            "is_read_only",
            "metadata",
            "qos",
            "source_kind",
            "source_id",
            "image",
            "availability_zone",
            "instance_uuid",
            "attachments",
            "used_bytes",
            "pool",
            "pool_name",
            "created_at",
            "updated_at",
        ]

    def get_volume_type(self, volume: Volume) -> str | None:
        """Its id."""
        return str(volume.volume_type_id) if volume.volume_type_id else None

    def get_volume_type_name(self, volume: Volume) -> str:
        """Empty for a volume without a type."""
        return volume.volume_type.name if volume.volume_type else ""

    def get_pool(self, volume: Volume) -> str | None:
        """Its id; null for others than administrators."""
        return str(volume.pool_id) if volume.pool_id and self.context["caller"].sees_all else None

    def get_pool_name(self, volume: Volume) -> str | None:
        """With the host of a host's own pool; null for others than administrators."""
        return str(volume.pool) if volume.pool and self.context["caller"].sees_all else None

    def get_image(self, volume: Volume) -> dict[str, str] | None:
        """Id and name of the image that it was made of, as they were."""
        return {name: str(volume.image.get(name, "")) for name in ("id", "name")} if volume.image else None


class VolumeUploadedOutput(VolumeOutput):
    """A volume that is being uploaded, with the id of the image."""

    image_id = serializers.UUIDField(read_only=True)

    class Meta(VolumeOutput.Meta):
        fields = [*VolumeOutput.Meta.fields, "image_id"]


class VolumeSnapshotInput(StrictInput):
    """A new snapshot of a volume."""

    volume = serializers.UUIDField()
    name = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    metadata = serializers.JSONField(required=False)


class VolumeSnapshotChange(StrictInput):
    """What may change of a snapshot."""

    name = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    metadata = serializers.JSONField(required=False, help_text="Texts by keys; replaces all that it has.")


class VolumeSnapshotOutput(serializers.ModelSerializer[VolumeSnapshot]):
    """A snapshot of a volume. `is_consistent`: the guest's file systems stood still, for `frozen_ms` milliseconds.
    `image_id`: the image of an instance that boots from volumes, which names it.
    """

    volume_name = serializers.CharField(source="volume.name", read_only=True)

    class Meta:
        model = VolumeSnapshot
        fields = [
            "id",
            "name",
            "description",
            "volume",
            "volume_name",
            "project",
            "user_id",
            "size_gib",
            "state",
            "fault",
            "is_consistent",
            "frozen_ms",
            "image_id",
            "used_bytes",
            "metadata",
            "created_at",
            "updated_at",
        ]


class VolumeTransferInput(StrictInput):
    """An offer of a volume to another project."""

    volume = serializers.UUIDField()
    name = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    has_snapshots = serializers.BooleanField(required=False, help_text="False: refused where the volume has any.")


class VolumeTransferWordInput(StrictInput):
    """The word that was shown to who made the offer."""

    word = serializers.CharField(max_length=200, trim_whitespace=True)


class VolumeTransferOutput(serializers.ModelSerializer[VolumeTransfer]):
    """An offer that is not over."""

    volume_name = serializers.CharField(source="volume.name", read_only=True)

    class Meta:
        model = VolumeTransfer
        fields = ["id", "name", "volume", "volume_name", "has_snapshots", "expires_at", "created_at"]


class VolumeTransferCreated(VolumeTransferOutput):
    """A new offer with its word, which is shown this once."""

    word = serializers.CharField(read_only=True)

    class Meta(VolumeTransferOutput.Meta):
        fields = [*VolumeTransferOutput.Meta.fields, "word"]

    @classmethod
    def of(cls, offer: TransferOffer) -> dict[str, Any]:
        """The answer to who made it."""
        return {**VolumeTransferOutput(offer.transfer).data, "word": offer.word}
