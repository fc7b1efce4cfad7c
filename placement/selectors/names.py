"""Resource classes and traits."""

from django.db.models import QuerySet

from placement.models import ResourceClass, Trait


def resource_class_list() -> QuerySet[ResourceClass]:
    """All resource classes by name."""
    return ResourceClass.objects.order_by("name")


def trait_list() -> QuerySet[Trait]:
    """All traits by name."""
    return Trait.objects.order_by("name")
