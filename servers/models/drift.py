"""What agents and the reconciler saw out of step: guests that nobody explains, and since when a drift lasts."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField


class OrphanGuest(models.Model):
    """Cell scope. A guest that an agent found on its host and no instance explains; the row goes when the guest does.

    The agent removes it only after it is released: by the grace period, or by an operator (`asked_by`).
    """

    host = models.CharField(max_length=255)
    guest_uuid = models.UUIDField()
    name = models.CharField(max_length=255, blank=True, help_text=_("As its hypervisor calls it."))
    power_state = models.CharField(max_length=12, blank=True)
    first_seen_at = models.DateTimeField(help_text=_("By the database's clock; the grace period begins here."))
    last_seen_at = models.DateTimeField()
    not_removed_because = models.CharField(max_length=255, blank=True, help_text=_("Why its agent does not remove it."))
    asked_by = models.CharField(max_length=150, blank=True, help_text=_("Who asked for its removal at once."))
    released_at = models.DateTimeField(null=True, blank=True, help_text=_("When the agent was told to remove it."))
    more = models.PositiveIntegerField(
        default=0, help_text=_("How many more its host has, which are not listed: the same in each row of a host.")
    )

    class Meta:
        ordering = ["first_seen_at", "host", "guest_uuid"]
        constraints = [models.UniqueConstraint(fields=["host", "guest_uuid"], name="orphan_guest_once_per_host")]

    def __str__(self) -> str:
        return f"{self.guest_uuid} on {self.host}"


class DriftSighting(models.Model):
    """API scope. A drift as it was last seen, by its key, and since when it lasts: what pages and the API show.

    Written by the periodic look; the row goes when the drift does.
    """

    key = models.CharField(max_length=255, unique=True)
    kind = models.CharField(max_length=40)
    subject = models.CharField(max_length=255, blank=True)
    found = models.TextField(blank=True, help_text=_("What does not agree, in a sentence."))
    evidence = JsonField(default=dict, blank=True)
    heal = models.TextField(blank=True, help_text=_("What would be done about it."))
    obstacle = models.TextField(blank=True, help_text=_("Why nothing can be done from here."))
    instance_id = models.UUIDField(null=True, blank=True)
    host = models.CharField(max_length=255, blank=True)
    heals_at = models.DateTimeField(null=True, blank=True, help_text=_("When it is put right, where its rule says so."))
    asked_by = models.CharField(max_length=150, blank=True, help_text=_("Who asked for the heal that is under way."))
    first_seen_at = models.DateTimeField()
    seen_at = models.DateTimeField(null=True, blank=True, help_text=_("When the look that saw it last began."))
    tried_at = models.DateTimeField(null=True, blank=True, help_text=_("When it was last put right by itself."))
    refusal = models.TextField(blank=True, help_text=_("Why the last try to put it right could not."))

    class Meta:
        ordering = ["first_seen_at", "key"]
        indexes = [
            models.Index(fields=["kind", "first_seen_at", "key"], name="drift_kind"),
            models.Index(fields=["host"], name="drift_host"),
            models.Index(fields=["instance_id"], name="drift_instance"),
        ]

    def __str__(self) -> str:
        return self.key


class DriftCheck(models.Model):
    """API scope. One row for each group of kinds that is looked for together: when it was last done, what it found."""

    name = models.CharField(max_length=20, primary_key=True)
    began_at = models.DateTimeField(help_text=_("By the database's clock."))
    finished_at = models.DateTimeField()
    counts = JsonField(default=dict, help_text=_("How many of each kind were found."))
    is_cut = models.BooleanField(default=False, help_text=_("It stopped at DRIFT_MAX_FINDINGS: there is more."))

    def __str__(self) -> str:
        return self.name


class PoolSighting(models.Model):
    """API scope. What a pool has and no row explains, or what a row says that it has and it has not; the row goes when
    that does.

    Hosts remove bytes of which it is known that they were a volume here (`was_known`), once the grace period is over;
    any others only when an operator asks (`asked_by`): they may be another installation's.
    """

    pool = models.ForeignKey("servers.StoragePool", on_delete=models.CASCADE, related_name="sightings")
    name = models.CharField(max_length=80, help_text=_("A volume's id, or volume/snapshot."))
    is_missing = models.BooleanField(help_text=_("The row is there, and its bytes are not."))
    was_known = models.BooleanField(default=False, help_text=_("It was worked on here once."))
    host = models.CharField(max_length=255, help_text=_("Who saw it last."))
    first_seen_at = models.DateTimeField(help_text=_("By the database's clock; the grace period begins here."))
    last_seen_at = models.DateTimeField()
    not_removed_because = models.CharField(max_length=255, blank=True, help_text=_("Why its host does not remove it."))
    asked_by = models.CharField(max_length=150, blank=True, help_text=_("Who asked for its removal at once."))
    released_at = models.DateTimeField(null=True, blank=True, help_text=_("When a host was told to remove it."))
    more = models.PositiveIntegerField(
        default=0, help_text=_("How many more its pool has, which are not listed: the same in each row of a pool.")
    )

    class Meta:
        ordering = ["first_seen_at", "pool", "name"]
        constraints = [models.UniqueConstraint(fields=["pool", "name"], name="pool_sighting_once")]

    def __str__(self) -> str:
        return f"{self.name} in {self.pool_id}"
