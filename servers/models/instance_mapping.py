"""Which cell an instance is in."""

from django.db import models

from controlplane.infra.models import Timestamped


class InstanceMapping(Timestamped):
    """API scope. `cell_id` is empty until the instance's row exists in a cell."""

    instance_uuid = models.UUIDField(unique=True)
    cell_id = models.UUIDField(null=True, blank=True, db_index=True)
    project = models.ForeignKey("identity.Project", on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return str(self.instance_uuid)
