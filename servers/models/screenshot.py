"""The newest picture of a guest's screen, so that showing it does not need its host."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Screenshot(models.Model):
    """One of each instance at most, for a time. `png` is empty where `error` says why there is none."""

    instance_uuid = models.UUIDField(primary_key=True)
    png = models.BinaryField(blank=True, default=b"")
    error = models.TextField(blank=True, help_text=_("For operators."))
    taken_at = models.DateTimeField(db_index=True, help_text=_("By the database's clock."))

    def __str__(self) -> str:
        return str(self.instance_uuid)
