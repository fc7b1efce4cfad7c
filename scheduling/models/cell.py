"""A cell: a part of the fleet with a database of its own (by default all share one)."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.models import Timestamped, UuidKeyed


class Cell(UuidKeyed, Timestamped):
    """API scope. cell0 holds instances that never got a host; hosts live in the others."""

    name = models.CharField(max_length=255, unique=True)
    disabled = models.BooleanField(default=False, help_text=_("No new instances here; what runs keeps running."))

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
