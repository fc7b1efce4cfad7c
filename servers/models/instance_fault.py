"""Why something about an instance failed."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class InstanceFault(models.Model):
    """`message` is for the owner, `details` for operators. The newest one is the instance's fault."""

    instance_uuid = models.UUIDField()
    code = models.PositiveIntegerField(default=500, help_text=_("An HTTP-like number, as Nova has it."))
    message = models.CharField(max_length=1000)
    details = models.TextField(blank=True)
    host = models.CharField(max_length=255, blank=True)
    step = models.CharField(max_length=60, blank=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["instance_uuid", "-created_at"], name="fault_instance")]

    def __str__(self) -> str:
        return self.message
