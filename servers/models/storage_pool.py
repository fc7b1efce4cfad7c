"""Pools that volumes are in, and the hosts that reach them."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from computeagent.protocol.volumes import PoolKind
from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped, UuidKeyed


class StoragePool(UuidKeyed, Timestamped):
    """API scope. Its id is that of its resource provider in Placement. `host` is the only one that stores it, empty for
    a shared one. Capacity is what hosts said last; how much may be promised of it is Placement's inventory.
    """

    name = models.CharField(max_length=64)
    kind = models.CharField(max_length=8, choices=[(kind.value, kind.value) for kind in PoolKind])
    host = models.CharField(max_length=255, blank=True)
    identity = models.CharField(
        max_length=255, blank=True, help_text=_("What tells that two hosts mean the same pool.")
    )
    total_bytes = models.PositiveBigIntegerField(default=0)
    free_bytes = models.PositiveBigIntegerField(default=0)
    abilities = JsonField(default=list, blank=True, help_text=_("What it can do, as hosts say."))
    lacks = JsonField(default=list, blank=True, help_text=_("What it cannot do, and why."))
    is_enabled = models.BooleanField(default=True, help_text=_("One that is not gets no new volumes."))
    allocation_ratio = models.FloatField(default=1.0, help_text=_("How much may be promised of each GiB that it has."))
    reserved_gib = models.PositiveIntegerField(default=0)
    reported_at = models.DateTimeField(null=True, blank=True, help_text=_("By the database's clock."))

    class Meta:
        ordering = ["name", "host"]
        constraints = [
            models.UniqueConstraint(
                fields=["name", "host"],
                name="storage_pool_once",
                violation_error_message="There is such a pool already.",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.host}" if self.host else self.name


class StoragePoolHost(models.Model):
    """API scope. That a host reaches a pool: what guests there may have volumes of it."""

    pool = models.ForeignKey(StoragePool, on_delete=models.CASCADE, related_name="hosts")
    host = models.CharField(max_length=255, db_index=True)
    problem = models.TextField(blank=True, help_text=_("Why this host cannot use it now."))
    reported_at = models.DateTimeField(help_text=_("By the database's clock."))

    class Meta:
        ordering = ["pool", "host"]
        constraints = [models.UniqueConstraint(fields=["pool", "host"], name="storage_pool_host_once")]
        indexes = [models.Index(fields=["pool"], condition=Q(problem=""), name="storage_pool_reached")]

    def __str__(self) -> str:
        return f"{self.host}: {self.pool_id}"
