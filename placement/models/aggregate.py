"""Aggregates as placement knows them: a uuid, and the providers that are in it."""

from django.db import models

from placement.models.provider import ResourceProvider


class PlacementAggregate(models.Model):
    """A uuid, made when it is first used. What it means is known elsewhere (a host aggregate of the same uuid)."""

    uuid = models.UUIDField(unique=True)

    class Meta:
        ordering = ["uuid"]

    def __str__(self) -> str:
        return str(self.uuid)


class ProviderAggregate(models.Model):
    """A provider is in an aggregate."""

    provider = models.ForeignKey(ResourceProvider, on_delete=models.CASCADE, related_name="aggregate_rows")
    aggregate = models.ForeignKey(PlacementAggregate, on_delete=models.PROTECT, related_name="provider_rows")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "aggregate"],
                name="provider_aggregate_once",
                violation_error_message="The provider is in this aggregate already.",
            )
        ]

    def __str__(self) -> str:
        return f"{self.provider_id} in {self.aggregate_id}"
