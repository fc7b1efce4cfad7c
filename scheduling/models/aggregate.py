"""Aggregates: named sets of hosts with metadata; with the key `availability_zone` they make a zone."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped, UuidKeyed

ZONE_KEY = "availability_zone"


class Aggregate(UuidKeyed, Timestamped):
    """API scope. A host may be in many aggregates but in one zone only (services enforce it).

    Mirrored to Placement as an aggregate of the same uuid over the hosts' providers.
    """

    name = models.CharField(
        max_length=255, unique=True, error_messages={"unique": "An aggregate of this name exists already."}
    )
    metadata = JsonField(default=dict, blank=True, help_text=_("Text to text; availability_zone names the zone."))

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def availability_zone(self) -> str | None:
        """The zone this aggregate makes, if it makes one."""
        zone = self.metadata.get(ZONE_KEY)
        return str(zone) if zone else None


class AggregateHost(models.Model):
    """API scope. A host by name (services live in cells, so no foreign key leads there)."""

    aggregate = models.ForeignKey(Aggregate, on_delete=models.CASCADE, related_name="members")
    host = models.CharField(max_length=255, db_index=True)

    class Meta:
        ordering = ["host"]
        constraints = [
            models.UniqueConstraint(
                fields=["aggregate", "host"],
                name="aggregate_host_once",
                violation_error_message="This host is in the aggregate already.",
            )
        ]

    def __str__(self) -> str:
        return f"{self.host} in {self.aggregate_id}"
