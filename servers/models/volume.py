"""Volumes, what is made of them, and which instances have them."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from computeagent.protocol.volumes import VolumeSourceKind
from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped, UuidKeyed
from servers.models.storage_pool import StoragePool
from servers.models.volume_type import VolumeType
from servers.volumes.domain.states import AttachmentState, BackupState, VolumeSnapshotState, VolumeState

VOLUME_STATES = [(s.value, s.value) for s in VolumeState]


class Volume(UuidKeyed, Timestamped):
    """API scope. A consumer in Placement: `CUSTOM_VOLUME_GB` of its pool. `generation` grows with every change
    of state. It has an `instance_uuid` while it is being made in an instance's build.
    """

    project = models.ForeignKey("identity.Project", on_delete=models.PROTECT, related_name="+")
    user_id = models.UUIDField()
    name = models.CharField(max_length=255, blank=True)
    description = models.CharField(max_length=255, blank=True)
    metadata = JsonField(default=dict, blank=True)
    size_gib = models.PositiveIntegerField()
    wanted_gib = models.PositiveIntegerField(default=0, help_text=_("The size that it is being extended to; else 0."))
    volume_type = models.ForeignKey(VolumeType, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    wanted_type = models.ForeignKey(
        VolumeType,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text=_("The type that it has once it is in the wanted pool."),
    )
    pool = models.ForeignKey(StoragePool, null=True, blank=True, on_delete=models.PROTECT, related_name="volumes")
    wanted_pool = models.ForeignKey(
        StoragePool,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text=_("The pool that it is being copied into."),
    )
    left_pool = models.ForeignKey(
        StoragePool,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text=_("A pool that has bytes of it still, which are being removed."),
    )
    state = models.CharField(max_length=20, choices=VOLUME_STATES, default=VolumeState.CREATING.value)
    generation = models.PositiveBigIntegerField(default=0)
    fault = models.TextField(blank=True, help_text=_("Why it is in error, or why what was asked for last failed."))
    is_bootable = models.BooleanField(default=False)
    is_multiattach = models.BooleanField(default=False, help_text=_("As its type was when it was made."))
    is_encrypted = models.BooleanField(default=False)
    is_read_only = models.BooleanField(default=False, help_text=_("Instances that get it may not write to it."))
    qos = JsonField(default=dict, blank=True, help_text=_("Limits as they were when it was made."))
    source_kind = models.CharField(
        max_length=10, choices=[(k.value, k.value) for k in VolumeSourceKind], default=VolumeSourceKind.BLANK.value
    )
    source_id = models.UUIDField(null=True, blank=True, help_text=_("The image, snapshot, volume or backup."))
    image = JsonField(default=dict, blank=True, help_text=_("Snapshot of the image that it was made of."))
    location = JsonField(default=dict, blank=True, help_text=_("What the pool's backend wrote down."))
    used_bytes = models.PositiveBigIntegerField(default=0)
    availability_zone = models.CharField(max_length=255, blank=True)
    instance_uuid = models.UUIDField(null=True, blank=True, db_index=True)
    request_id = models.CharField(max_length=60, blank=True)

    class Meta:
        ordering = ["-created_at", "id"]
        indexes = [
            models.Index(fields=["project", "-created_at"], name="volume_of_project"),
            models.Index(fields=["state"], name="volume_state"),
            models.Index(fields=["source_id"], condition=Q(state="creating"), name="volume_being_made_of"),
        ]

    def __str__(self) -> str:
        return self.name or str(self.pk)


class VolumeAttachment(UuidKeyed, Timestamped):
    """API scope. That an instance has a volume, from when it is promised until its host says that it is gone. The
    constraint, and nothing else, keeps a volume from two instances.
    """

    volume = models.ForeignKey(Volume, on_delete=models.PROTECT, related_name="attachments")
    instance_uuid = models.UUIDField(db_index=True)
    state = models.CharField(
        max_length=12, choices=[(s.value, s.value) for s in AttachmentState], default=AttachmentState.RESERVED.value
    )
    is_shared = models.BooleanField(default=False, help_text=_("The volume may be several instances'."))
    is_read_only = models.BooleanField(default=False)
    device = models.CharField(max_length=32, blank=True)
    problem = models.TextField(blank=True, help_text=_("Why it could not be detached, or is not there."))
    limits_due = models.BooleanField(
        default=False, help_text=_("Its guest is yet to be held to the volume's new limits.")
    )
    attached_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["created_at", "id"]
        indexes = [models.Index(fields=["limits_due"], condition=Q(limits_due=True), name="volume_limits_due")]
        constraints = [
            models.UniqueConstraint(
                fields=["volume"],
                condition=Q(is_shared=False),
                name="volume_attached_once",
                violation_error_message="The volume is another instance's.",
            ),
            models.UniqueConstraint(
                fields=["volume", "instance_uuid"],
                name="volume_once_an_instance",
                violation_error_message="The instance has this volume already.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.volume_id}: {self.instance_uuid}"


class VolumeSnapshot(UuidKeyed, Timestamped):
    """API scope. A volume's bytes of one moment, in the volume's own pool."""

    volume = models.ForeignKey(Volume, on_delete=models.PROTECT, related_name="snapshots")
    project = models.ForeignKey("identity.Project", on_delete=models.PROTECT, related_name="+")
    user_id = models.UUIDField()
    name = models.CharField(max_length=255, blank=True)
    description = models.CharField(max_length=255, blank=True)
    metadata = JsonField(default=dict, blank=True)
    size_gib = models.PositiveIntegerField()
    state = models.CharField(
        max_length=20,
        choices=[(s.value, s.value) for s in VolumeSnapshotState],
        default=VolumeSnapshotState.CREATING.value,
    )
    generation = models.PositiveBigIntegerField(default=0)
    fault = models.TextField(blank=True)
    is_consistent = models.BooleanField(default=False, help_text=_("The guest's file systems stood still."))
    frozen_ms = models.PositiveIntegerField(default=0, help_text=_("For how long they did."))
    used_bytes = models.PositiveBigIntegerField(default=0)
    location = JsonField(default=dict, blank=True)
    image_id = models.UUIDField(
        null=True, blank=True, db_index=True, help_text=_("The image of an instance that it was made for.")
    )

    class Meta:
        ordering = ["-created_at", "id"]
        indexes = [
            models.Index(fields=["project", "-created_at"], name="volume_snapshot_of_project"),
            models.Index(fields=["state"], condition=~Q(state="available"), name="volume_snapshot_busy"),
        ]

    def __str__(self) -> str:
        return self.name or str(self.pk)


class VolumeBackup(UuidKeyed, Timestamped):
    """API scope. A copy in the store of images and backups, which outlives its volume. `parent`: it has only what
    differs from that one, which cannot be removed before. It is made of a snapshot; with `keeps_snapshot` that stays,
    so that the next one needs to have only what differs from it. `upload_id` names the bytes in the store.
    """

    volume_id = models.UUIDField(db_index=True)
    volume_name = models.CharField(max_length=255, blank=True)
    project = models.ForeignKey("identity.Project", on_delete=models.PROTECT, related_name="+")
    user_id = models.UUIDField()
    name = models.CharField(max_length=255, blank=True)
    description = models.CharField(max_length=255, blank=True)
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="children")
    snapshot_id = models.UUIDField(
        null=True, blank=True, db_index=True, help_text=_("The moment that it is of, while its pool has that.")
    )
    owns_snapshot = models.BooleanField(default=False, help_text=_("The snapshot was made for it."))
    keeps_snapshot = models.BooleanField(default=False, help_text=_("The snapshot stays for the next backup."))
    size_gib = models.PositiveIntegerField()
    size_bytes = models.PositiveBigIntegerField(default=0, help_text=_("What it takes in the store."))
    upload_id = models.UUIDField(null=True, blank=True, editable=False)
    upload_part = models.CharField(max_length=1000, blank=True, editable=False)
    has_bytes = models.BooleanField(default=False, editable=False, help_text=_("All have come and were compared."))
    done_bytes = models.PositiveBigIntegerField(default=0)
    checksum = models.CharField(max_length=80, blank=True)
    is_encrypted = models.BooleanField(default=False)
    is_consistent = models.BooleanField(default=False)
    volume_type = models.ForeignKey(
        VolumeType,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text=_("Its volume's. One that is restored without another has it."),
    )
    image = JsonField(default=dict, blank=True)
    state = models.CharField(
        max_length=20, choices=[(s.value, s.value) for s in BackupState], default=BackupState.CREATING.value
    )
    generation = models.PositiveBigIntegerField(default=0)
    fault = models.TextField(blank=True)

    class Meta:
        ordering = ["-created_at", "id"]
        indexes = [models.Index(fields=["project", "-created_at"], name="volume_backup_of_project")]

    def __str__(self) -> str:
        return self.name or str(self.pk)


class VolumeKey(models.Model):
    """API scope. The passphrase of an encrypted volume or backup, encrypted with the installation's own key. Only hosts
    that have work for the volume, or an instance with it, are given it.
    """

    owner_id = models.UUIDField(primary_key=True, help_text=_("The volume or backup."))
    sealed = models.TextField()

    def __str__(self) -> str:
        return str(self.owner_id)


class VolumeTransfer(UuidKeyed, Timestamped):
    """API scope. An offer of a volume to whoever knows its word, of which there is only a hash here."""

    volume = models.OneToOneField(Volume, on_delete=models.CASCADE, related_name="transfer")
    name = models.CharField(max_length=255, blank=True)
    has_snapshots = models.BooleanField(default=True, help_text=_("Its snapshots go with it."))
    word_hash = models.CharField(max_length=128)
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ["-created_at", "id"]

    def __str__(self) -> str:
        return self.name or str(self.pk)
