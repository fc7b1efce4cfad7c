"""Inventories: how much of a class a provider has and how much of it is used."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from placement.domain.inventory import MAX_INT
from placement.models.provider import ResourceProvider
from placement.models.resource_class import ResourceClass


class Inventory(models.Model):
    """Stated by drivers and operators through services; services alone write `capacity` and `used`.

    A claim adds to `used` where the sum stays within `capacity`. An operator may shrink an inventory below what is
    used; `used_when_set` is what was used when these numbers were last stated, so the database itself can refuse
    every other way of going over the capacity.
    """

    provider = models.ForeignKey(ResourceProvider, on_delete=models.CASCADE, related_name="inventories")
    resource_class = models.ForeignKey(ResourceClass, on_delete=models.PROTECT, related_name="inventories")
    total = models.PositiveIntegerField()
    reserved = models.PositiveIntegerField(default=0)
    min_unit = models.PositiveIntegerField(default=1)
    max_unit = models.PositiveIntegerField(default=MAX_INT)
    step_size = models.PositiveIntegerField(default=1)
    allocation_ratio = models.FloatField(default=1.0)
    capacity = models.BigIntegerField(
        editable=False, help_text=_("(total - reserved) * allocation_ratio, rounded down.")
    )
    used = models.BigIntegerField(default=0, editable=False, help_text=_("The sum of the allocations."))
    used_when_set = models.BigIntegerField(default=0, editable=False)

    class Meta:
        ordering = ["provider", "resource_class"]
        verbose_name_plural = "inventories"
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "resource_class"],
                name="inventory_once_per_class",
                violation_error_message="The provider has an inventory of this class already.",
            ),
            models.CheckConstraint(
                condition=Q(total__gte=1),
                name="inventory_total_positive",
                violation_error_message="The total is at least 1.",
            ),
            models.CheckConstraint(
                condition=Q(reserved__lte=F("total")),
                name="inventory_reserved_within_total",
                violation_error_message="No more than the total can be reserved.",
            ),
            models.CheckConstraint(
                condition=Q(min_unit__gte=1, max_unit__gte=1, step_size__gte=1),
                name="inventory_units_positive",
                violation_error_message="min_unit, max_unit and step_size are at least 1.",
            ),
            models.CheckConstraint(
                condition=Q(allocation_ratio__gte=0, capacity__gte=0),
                name="inventory_ratio_not_negative",
                violation_error_message="The allocation ratio is not negative.",
            ),
            models.CheckConstraint(
                condition=Q(used__gte=0),
                name="inventory_used_not_negative",
                violation_error_message="No less than nothing can be used.",
            ),
            models.CheckConstraint(
                condition=Q(used__lte=F("capacity")) | Q(used__lte=F("used_when_set")),
                name="inventory_never_over_allocated",
                violation_error_message="A claim cannot use more than the capacity.",
            ),
        ]

    def __str__(self) -> str:
        return f"inventory {self.pk}"
