"""What agents and the reconciler saw out of step: guests that nobody explains, and since when a drift lasts."""

from django.db import models


class StrangeGuest(models.Model):
    """Cell scope. A guest that an agent found on its host and no instance explains; the row goes when the guest does.

    The agent removes it only after it is released: by the grace period, or by an operator (`asked_by`).
    """

    host = models.CharField(max_length=255)
    guest_uuid = models.UUIDField()
    name = models.CharField(max_length=255, blank=True, help_text="As its hypervisor calls it.")
    power_state = models.CharField(max_length=12, blank=True)
    first_seen_at = models.DateTimeField(help_text="By the database's clock; the grace period begins here.")
    last_seen_at = models.DateTimeField()
    kept_because = models.CharField(max_length=255, blank=True, help_text="Why its agent does not remove it.")
    asked_by = models.CharField(max_length=150, blank=True, help_text="Who asked for its removal at once.")
    released_at = models.DateTimeField(null=True, blank=True, help_text="When the agent was told to remove it.")

    class Meta:
        ordering = ["first_seen_at", "host", "guest_uuid"]
        constraints = [models.UniqueConstraint(fields=["host", "guest_uuid"], name="strange_guest_once_per_host")]

    def __str__(self) -> str:
        return f"{self.guest_uuid} on {self.host}"


class DriftSighting(models.Model):
    """API scope. Since when a drift lasts, by its key. Written by the reconciler; the row goes when the drift does."""

    key = models.CharField(max_length=255, unique=True)
    kind = models.CharField(max_length=40)
    first_seen_at = models.DateTimeField()
    tried_at = models.DateTimeField(null=True, blank=True, help_text="When it was last put right by itself.")
    refusal = models.TextField(blank=True, help_text="Why the last try to put it right could not.")

    class Meta:
        ordering = ["first_seen_at", "key"]

    def __str__(self) -> str:
        return self.key
