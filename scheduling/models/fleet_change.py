"""What changed in the fleet, told by the database itself: triggers write here (`models.change_triggers`)."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

KIND_LENGTH, KEY_LENGTH = 16, 255


class FleetChange(models.Model):
    """API scope. Written by triggers only, and only added to, so that writers never wait for one another here.

    `changed` is the number of the writing transaction on PostgreSQL; on SQLite, where writers come one after another,
    `id` says the same. Rows are pruned once no reader can need them (`services.fleet_triggers`).
    """

    kind = models.CharField(max_length=KIND_LENGTH, help_text=_("What kind of thing changed."))
    key = models.CharField(max_length=KEY_LENGTH, help_text=_("Which one; for load, the host."))
    changed = models.BigIntegerField(db_index=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"
