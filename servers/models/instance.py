"""An instance, in its cell."""

from django.db import models

from computeagent.protocol.power import PowerState
from controlplane.infra.models import Timestamped, UuidKeyed
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
    hostname = models.CharField(max_length=63, blank=True, help_text="What the guest calls itself.")

    host = models.CharField(max_length=255, blank=True, help_text="The compute service that has it.")
    node = models.CharField(max_length=255, blank=True, help_text="Its `hypervisor_hostname`.")
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
    task_since = models.DateTimeField(null=True, blank=True, help_text="When the task of now began.")
    power_state = models.CharField(
        max_length=12, choices=[(s.value, s.value) for s in PowerState], default=PowerState.NOSTATE.value
    )
    generation = models.PositiveBigIntegerField(default=0, help_text="Grows with every change of state.")
    locked = models.BooleanField(default=False)
    locked_as = models.CharField(
        max_length=10,
        blank=True,
        choices=[("owner", "owner"), ("admin", "admin")],
        help_text="Locked by its own project, or by an administrator in another one, which its project cannot undo.",
    )
    locked_by = models.CharField(max_length=255, blank=True, help_text="Name of the user who locked it.")
    locked_reason = models.CharField(max_length=255, blank=True)
    protected = models.BooleanField(default=False, help_text="Nobody deletes it until it is unprotected.")

    flavor = models.JSONField(help_text="Snapshot of the flavor.")
    flavor_id = models.UUIDField(null=True, blank=True)
    vcpus = models.PositiveIntegerField()
    memory_mib = models.PositiveIntegerField()
    root_gib = models.PositiveIntegerField(default=0)
    ephemeral_gib = models.PositiveIntegerField(default=0)
    swap_mib = models.PositiveIntegerField(default=0)
    image = models.JSONField(default=dict, blank=True, help_text="Snapshot of the image.")
    image_id = models.UUIDField(null=True, blank=True)

    key_name = models.CharField(max_length=255, blank=True)
    public_key = models.TextField(blank=True)
    user_data = models.TextField(blank=True, help_text="Base64, as it was sent.")
    metadata = models.JSONField(default=dict, blank=True)
    addresses = models.JSONField(default=dict, blank=True, help_text="Network name -> list of IP addresses.")
    console_socket = models.CharField(max_length=255, blank=True, help_text="The UNIX socket of VNC, on the host.")

    request_id = models.CharField(max_length=60, blank=True)
    reservation_id = models.UUIDField(null=True, blank=True)
    launch_index = models.PositiveIntegerField(default=0, help_text="Place in its batch, from 0.")
    decision_id = models.UUIDField(null=True, blank=True, help_text="The latest scheduling decision about it.")
    alternates = models.JSONField(default=list, blank=True, help_text="Hosts still to be tried, in order.")
    hosts_tried = models.JSONField(default=list, blank=True)
    attempts = models.PositiveIntegerField(default=0, help_text="Hosts tried so far, the first included.")

    launched_at = models.DateTimeField(null=True, blank=True, help_text="When it first became active.")
    terminated_at = models.DateTimeField(null=True, blank=True)
    soft_deleted_at = models.DateTimeField(
        null=True, blank=True, help_text="When it was deleted so that it can be restored."
    )
    deleted_at = models.DateTimeField(null=True, blank=True)

    # Of an unsaved instance that stands for its build request.
    is_pending = False
    pending_tags: list[str] = []

    class Meta:
        ordering = ["-created_at", "id"]
        indexes = [
            models.Index(fields=["project_id", "deleted_at", "-created_at"], name="instance_project"),
            models.Index(fields=["host", "deleted_at"], name="instance_host"),
            models.Index(fields=["vm_state", "task_state"], name="instance_states"),
            models.Index(fields=["reservation_id"], name="instance_reservation"),
            # Whoever looks for tasks that stand too long looks only at the busy few.
            models.Index(fields=["task_since"], condition=~models.Q(task_state=""), name="instance_busy"),
            # What is deleted for good after a time, and what is removed after a time.
            models.Index(
                fields=["soft_deleted_at"],
                condition=models.Q(soft_deleted_at__isnull=False),
                name="instance_soft_deleted",
            ),
            models.Index(fields=["deleted_at"], condition=models.Q(deleted_at__isnull=False), name="instance_deleted"),
        ]

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
