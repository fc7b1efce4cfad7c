"""Allocations: who holds how much of what."""

from django.db import models
from django.db.models import Q

from placement.models.consumer import Consumer
from placement.models.provider import ResourceProvider
from placement.models.resource_class import ResourceClass


class Allocation(models.Model):
    """So much of one class of one provider, held by one consumer. Written by claim, free and move, never edited."""

    # The database's foreign key refuses an orphan; Django need not search for allocations each time a consumer ends.
    consumer = models.ForeignKey(Consumer, on_delete=models.DO_NOTHING, related_name="allocations")
    provider = models.ForeignKey(ResourceProvider, on_delete=models.PROTECT, related_name="allocations")
    resource_class = models.ForeignKey(ResourceClass, on_delete=models.PROTECT, related_name="allocations")
    used = models.BigIntegerField()

    class Meta:
        ordering = ["consumer", "provider", "resource_class"]
        constraints = [
            models.UniqueConstraint(
                fields=["consumer", "provider", "resource_class"],
                name="allocation_once",
                violation_error_message="The consumer holds some of this class of this provider already.",
            ),
            models.CheckConstraint(
                condition=Q(used__gte=1),
                name="allocation_used_positive",
                violation_error_message="An allocation is of at least 1.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.used} held by consumer {self.consumer_id}"


class CountedConsumer(models.Model):
    """A consumer counts under a key ("group:<uuid>") on a provider, for as long as it holds something there.

    A claim with a CountLimit counts these rows under the provider's lock, so there is no counter that could drift.
    """

    consumer = models.ForeignKey(Consumer, on_delete=models.DO_NOTHING, related_name="counted")
    provider = models.ForeignKey(ResourceProvider, on_delete=models.CASCADE, related_name="counted")
    key = models.CharField(max_length=255)

    class Meta:
        indexes = [models.Index(fields=["key"], name="counted_key")]
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "key", "consumer"],
                name="counted_consumer_once",
                violation_error_message="The consumer counts under this key already.",
            )
        ]

    def __str__(self) -> str:
        return f"consumer {self.consumer_id} counts under {self.key} on provider {self.provider_id}"


class CountedKey(models.Model):
    """The row is the lock of a key whose consumers must all be on one provider: no provider's lock could be that.

    It says nothing else: one that is missing is made by the next claim, and one that nobody needs may go at any time.
    """

    key = models.CharField(max_length=255, unique=True)

    def __str__(self) -> str:
        return self.key
