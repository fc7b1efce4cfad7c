"""Which cell a host is in."""

from django.db import models
from django.db.models.functions import Lower

from controlplane.infra.models import Timestamped
from scheduling.models.cell import Cell


class HostMapping(Timestamped):
    """API scope. Made when a host registers; a host is in exactly one cell."""

    host = models.CharField(
        max_length=255, unique=True, error_messages={"unique": "This host is mapped to a cell already."}
    )
    cell = models.ForeignKey(Cell, on_delete=models.PROTECT, related_name="host_mappings")

    class Meta:
        ordering = ["host"]
        constraints = [
            models.UniqueConstraint(
                Lower("host"),
                name="host_mapping_once_whatever_case",
                violation_error_message="A host of this name, but for capitals, is mapped already.",
            )
        ]

    def __str__(self) -> str:
        return f"{self.host} in {self.cell_id}"
