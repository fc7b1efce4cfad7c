"""An instance, in its cell."""

import uuid
from collections.abc import Sequence

from django.db import models
from django.utils.translation import gettext_lazy as _

from computeagent.protocol.power import PowerState
from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped, UuidKeyed
from controlplane.infra.natural_order import natural_order
from servers.states import TaskState, VmState


class Instance(UuidKeyed, Timestamped):
    """A virtual machine of a project. Deleted ones stay as rows with `deleted_at` for DELETED_RETENTION_DAYS.

    States are written by services only, each write a compare-and-set: `UPDATE .. WHERE` the states are among those that
    were expected, which also sets `generation = generation + 1`. Who judged more of the row than its states (the heal
    of a task, the power sync, scheduling again) compares the generation that was read too.
    `flavor` and `image` are snapshots of what was asked for; the sizes repeat the flavor for queries.
    """

    project_id = models.UUIDField()
    user_id = models.UUIDField()
    name = models.CharField(max_length=255)
    description = models.CharField(max_length=255, blank=True)
    hostname = models.CharField(max_length=255, blank=True, help_text=_("What the guest calls itself."))
    access_ip_v4 = models.CharField(max_length=15, blank=True, help_text=_("Where its owner says that it is reached."))
    access_ip_v6 = models.CharField(max_length=45, blank=True)

    host = models.CharField(max_length=255, blank=True, help_text=_("The compute service that has it."))
    node = models.CharField(max_length=255, blank=True, help_text=_("Its `hypervisor_hostname`."))
    launched_on = models.CharField(max_length=255, blank=True)
    compute_node_uuid = models.UUIDField(null=True, blank=True)
    availability_zone = models.CharField(max_length=255, blank=True)

    vm_state = models.CharField(
        max_length=20, choices=[(s.value, s.value) for s in VmState], default=VmState.BUILDING.value
    )
    task_state = models.CharField(
        max_length=40,
        blank=True,
        choices=[(s.value, s.value) for s in TaskState if s],
        default=TaskState.NONE.value,
    )
    task_since = models.DateTimeField(null=True, blank=True, help_text=_("When the task of now began."))
    power_state = models.CharField(
        max_length=12, choices=[(s.value, s.value) for s in PowerState], default=PowerState.NOSTATE.value
    )
    power_reason = models.CharField(
        max_length=20, blank=True, help_text=_("Why, where the guest got into its power state by itself.")
    )
    power_details = models.CharField(max_length=255, blank=True, help_text=_("What is known beside the reason."))
    crash_is_seen = models.BooleanField(
        default=False, help_text=_("Somebody has looked at its last crash, so that it is listed as a problem no more.")
    )
    watchdog_fired = models.PositiveBigIntegerField(default=0, help_text=_("How often, as its agent counts."))
    on_crash = models.CharField(
        max_length=10,
        blank=True,
        choices=[("stop", "stop"), ("restart", "restart")],
        help_text=_("What follows a crash of the guest; empty: as the setting GUEST_ON_CRASH says."),
    )
    generation = models.PositiveBigIntegerField(default=0, help_text=_("Grows with every change of state."))
    locked = models.BooleanField(default=False)
    locked_as = models.CharField(
        max_length=10,
        blank=True,
        choices=[("owner", "owner"), ("admin", "admin")],
        help_text=_("Locked by its own project, or by an administrator in another one, which its project cannot undo."),
    )
    locked_by = models.CharField(max_length=255, blank=True, help_text=_("Name of the user who locked it."))
    locked_reason = models.CharField(max_length=255, blank=True)
    protected = models.BooleanField(default=False, help_text=_("Nobody deletes it until it is unprotected."))

    flavor = JsonField(help_text=_("Snapshot of the flavor."))
    flavor_id = models.UUIDField(null=True, blank=True)
    vcpus = models.PositiveIntegerField()
    memory_mib = models.PositiveIntegerField()
    root_gib = models.PositiveIntegerField(default=0)
    ephemeral_gib = models.PositiveIntegerField(default=0)
    swap_mib = models.PositiveIntegerField(default=0)
    image = JsonField(default=dict, blank=True, help_text=_("Snapshot of the image."))
    image_id = models.UUIDField(null=True, blank=True)
    rescue_image = JsonField(
        default=dict, blank=True, help_text=_("Snapshot of the image that it is rescued with; counts while it is.")
    )

    key_name = models.CharField(max_length=255, blank=True)
    public_key = models.TextField(blank=True)
    user_data = models.TextField(blank=True, help_text=_("Base64, as it was sent."))
    has_default_network = models.BooleanField(
        default=True, help_text=_("Without any port it gets a card in its hypervisor's own default network.")
    )
    has_block_devices = models.BooleanField(
        default=False, help_text=_("It has rows of block device mappings: its disks were named one by one.")
    )
    stray_volumes = JsonField(
        default=list, blank=True, help_text=_("Volumes that its guest has, and that are not attached to it.")
    )
    config_drive = models.BooleanField(default=True, help_text=_("Whether it is configured by a disc of its own."))
    disk_config = models.CharField(
        max_length=6,
        blank=True,
        choices=[("AUTO", "AUTO"), ("MANUAL", "MANUAL")],
        help_text=_("Whether the guest grows its root partition; empty: as its image does by itself."),
    )
    trusted_image_certificates = JsonField(
        default=list, blank=True, help_text=_("Ids of the certificates by which its image had to be signed.")
    )
    metadata = JsonField(default=dict, blank=True)
    addresses = JsonField(default=dict, blank=True, help_text=_("Network name -> list of IP addresses."))
    console_socket = models.CharField(max_length=255, blank=True, help_text=_("The UNIX socket of VNC, on the host."))

    request_id = models.CharField(max_length=60, blank=True)
    reservation_id = models.UUIDField(null=True, blank=True)
    launch_index = models.PositiveIntegerField(default=0, help_text=_("Place in its batch, from 0."))
    decision_id = models.UUIDField(null=True, blank=True, help_text=_("The latest scheduling decision about it."))
    alternates = JsonField(default=list, blank=True, help_text=_("Hosts still to be tried, in order."))
    hosts_tried = JsonField(default=list, blank=True)
    attempts = models.PositiveIntegerField(default=0, help_text=_("Hosts tried so far, the first included."))
    failure_class = models.CharField(
        max_length=12, blank=True, help_text=_("Whose fault it was that it was not built; empty for one that was.")
    )

    launched_at = models.DateTimeField(null=True, blank=True, help_text=_("When it first became active."))
    terminated_at = models.DateTimeField(null=True, blank=True)
    soft_deleted_at = models.DateTimeField(
        null=True, blank=True, help_text=_("When it was deleted so that it can be restored.")
    )
    deleted_at = models.DateTimeField(null=True, blank=True)
    shelved_at = models.DateTimeField(null=True, blank=True, help_text=_("When it was shelved; empty while it is not."))
    rescued_at = models.DateTimeField(
        null=True, blank=True, help_text=_("When its rescue began; empty while it has none.")
    )
    shelved_image_id = models.UUIDField(null=True, blank=True, help_text=_("The image that its root disk is kept in."))

    # Of an unsaved instance that stands for its build request.
    is_pending = False
    # Of one that an action was just begun for: the image that it makes.
    made_image_id: uuid.UUID | None = None
    # Its tags, where they were read along or it has no row yet.
    known_tags: Sequence[str] | None = None

    class Meta:
        ordering = ["-created_at", "id"]
        indexes = [
            models.Index(fields=["project_id", "deleted_at", "-created_at"], name="instance_project"),
            models.Index(fields=["host", "deleted_at"], name="instance_host"),
            models.Index(fields=["vm_state", "task_state"], name="instance_states"),
            # Lists sort by name and by host in the order in which people count.
            models.Index(
                *natural_order("name"),
                "id",
                name="instance_by_name",
                condition=models.Q(deleted_at__isnull=True),
            ),
            models.Index(
                *natural_order("host"),
                "id",
                name="instance_by_host",
                condition=models.Q(deleted_at__isnull=True),
            ),
            # How many instances a flavor has, and which.
            models.Index(fields=["flavor_id"], name="instance_by_flavor", condition=models.Q(deleted_at__isnull=True)),
            models.Index(fields=["reservation_id"], name="instance_reservation"),
            # The overview counts all that live, by project and state, from the index alone.
            models.Index(
                fields=["project_id", "vm_state", "task_state", "created_at", "vcpus", "memory_mib"],
                condition=models.Q(deleted_at__isnull=True),
                name="instance_living",
            ),
            # Lists of all projects, the newest first.
            models.Index(
                fields=["-created_at", "-id"], condition=models.Q(deleted_at__isnull=True), name="instance_newest"
            ),
            # Since when there are instances; the newest of a state.
            models.Index(
                fields=["vm_state", "created_at"],
                condition=models.Q(deleted_at__isnull=True),
                name="instance_living_newest",
            ),
            # The few whose guest crashed. SQLite proves no partial index by a value that is a parameter.
            models.Index(
                fields=["power_state", "task_state"],
                condition=models.Q(deleted_at__isnull=True),
                name="instance_power",
            ),
            # Whoever looks for tasks that stand too long looks only at the busy few.
            models.Index(fields=["task_since"], condition=~models.Q(task_state=""), name="instance_busy"),
            # What is deleted for good after a time, and what is removed after a time.
            models.Index(
                fields=["soft_deleted_at"],
                condition=models.Q(soft_deleted_at__isnull=False),
                name="instance_soft_deleted",
            ),
            models.Index(fields=["deleted_at"], condition=models.Q(deleted_at__isnull=False), name="instance_deleted"),
            # What leaves its host a while after it was shelved.
            models.Index(fields=["shelved_at"], condition=models.Q(shelved_at__isnull=False), name="instance_shelved"),
            models.Index(fields=["rescued_at"], condition=models.Q(rescued_at__isnull=False), name="instance_rescued"),
        ]

    @property
    def is_bfv(self) -> bool:
        """Whether it boots from a volume: its disks were named, and none of them is made of an image on its host."""
        return self.has_block_devices and self.image_id is None

    def __str__(self) -> str:
        return self.name


class InstanceTag(models.Model):
    """A word that its owner put on an instance."""

    instance = models.ForeignKey(Instance, on_delete=models.CASCADE, related_name="tags")
    tag = models.CharField(max_length=60)

    class Meta:
        ordering = ["tag"]
        constraints = [models.UniqueConstraint(fields=["instance", "tag"], name="instance_tag_once")]
        indexes = [models.Index(fields=["tag"], name="instance_tag")]

    def __str__(self) -> str:
        return self.tag
