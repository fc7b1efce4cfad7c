"""What was done to an instance, by whom, and the steps of it: the rows behind the timeline."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class InstanceAction(models.Model):
    """One verb (create, start, delete ...) from request to end. `result` is empty until it ended."""

    instance_uuid = models.UUIDField()
    action = models.CharField(max_length=40)
    request_id = models.CharField(max_length=60, blank=True, db_index=True)
    user_id = models.UUIDField(null=True, blank=True)
    project_id = models.UUIDField(null=True, blank=True)
    work_id = models.UUIDField(null=True, blank=True, db_index=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    message = models.TextField(blank=True)
    result = models.CharField(
        max_length=10, blank=True, choices=[("success", "success"), ("error", "error"), ("cancelled", "cancelled")]
    )
    attempt = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["-started_at", "-id"]
        indexes = [
            models.Index(fields=["instance_uuid", "started_at"], name="action_instance"),
            # The overview shows the newest: of all projects, or of one.
            models.Index(fields=["started_at", "id"], name="action_newest"),
            models.Index(fields=["project_id", "started_at", "id"], name="action_newest_of_project"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.instance_uuid}"


class InstanceActionEvent(models.Model):
    """One step of an action on one attempt. Starting the same step of the same attempt again is the same row."""

    action = models.ForeignKey(InstanceAction, on_delete=models.CASCADE, related_name="events")
    name = models.CharField(max_length=60)
    attempt = models.PositiveIntegerField(default=1)
    host = models.CharField(max_length=255, blank=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    result = models.CharField(max_length=10, blank=True, choices=[("success", "success"), ("error", "error")])
    details = models.TextField(blank=True)
    done_bytes = models.PositiveBigIntegerField(null=True, blank=True, help_text=_("How far a long step is."))
    total_bytes = models.PositiveBigIntegerField(null=True, blank=True, help_text=_("Of so many bytes."))

    class Meta:
        ordering = ["started_at", "id"]
        constraints = [models.UniqueConstraint(fields=["action", "name", "attempt", "host"], name="action_event_once")]
        # Metrics look at the steps that ended lately.
        indexes = [
            models.Index(fields=["finished_at"], condition=Q(finished_at__isnull=False), name="action_event_ended"),
        ]

    def __str__(self) -> str:
        return self.name
