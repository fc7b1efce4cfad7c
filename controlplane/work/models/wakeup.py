"""A wake-up: queue, code and identifier, nothing else; no pickle ever crosses a machine."""

from django.db import models


class Wakeup(models.Model):
    """Sending twice is one row, answering deletes it. Losing one costs a few seconds: the reconciler sends the wake-up
    again.
    """

    queue = models.CharField(max_length=100)
    code = models.CharField(max_length=40)
    ref = models.CharField(max_length=64)
    woken_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["queue", "code", "ref"], name="wakeup_once")]

    def __str__(self) -> str:
        return f"{self.queue}: {self.code} {self.ref}"
