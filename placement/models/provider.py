"""Resource providers: whatever has inventory. A tree: a compute node and, below it, devices or NUMA nodes."""

import uuid

from django.db import models

from controlplane.infra.models import Timestamped
from placement.domain.shown import ProviderKind


class ResourceProvider(Timestamped):
    """One provider. Its row is the lock of everything below it: inventories, traits, aggregates, allocations.

    `generation` counts changes of those, for clients that compare; `changed` is the stamp for readers of the whole
    fleet (see `models.stamp`). `root` is the provider itself where it has no parent; it is empty only inside the
    transaction that makes the row.
    """

    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    name = models.CharField(
        max_length=200, unique=True, error_messages={"unique": "There is a provider of this name already."}
    )
    kind = models.CharField(
        max_length=20, choices=[(kind.value, kind.value) for kind in ProviderKind], default=ProviderKind.OTHER.value
    )
    generation = models.BigIntegerField(default=0)
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="children")
    root = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="tree")
    changed = models.BigIntegerField(default=0, db_index=True, editable=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class ProviderRemoval(models.Model):
    """A provider was deleted, stamped like a change, so that readers of the fleet forget it."""

    provider_uuid = models.UUIDField()
    changed = models.BigIntegerField(db_index=True)

    def __str__(self) -> str:
        return f"{self.provider_uuid} removed"
