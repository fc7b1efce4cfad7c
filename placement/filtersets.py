"""Filters of lists: one class serves API and pages."""

from uuid import UUID

import django_filters
from django.db.models import Q, QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field

from controlplane.infra.list_filters import ListFilterSet, YesNoFilter
from controlplane.infra.quick_search import QuickSearch
from placement.domain import ProviderKind
from placement.models import Allocation, Inventory, ProviderTrait, ResourceClass, ResourceProvider, Trait


class ProviderFilterSet(QuickSearch):
    """?q= (any attribute), ?uuid=, ?name=, ?search=, ?kind=, ?in_tree= (uuid), ?trait= (repeatable: all of them),
    ?resource_class=, ?roots=true, ?aggregate=, ?consumer=
    """

    search_fields = ("name", "kind", "root__name")
    search_ids = ("uuid",)

    search = django_filters.CharFilter(field_name="name", lookup_expr="icontains", label="Part of the name.")
    kind = django_filters.ChoiceFilter(choices=[(kind.value, kind.value) for kind in ProviderKind])
    in_tree = django_filters.UUIDFilter(method="by_tree", label="Of the tree that this provider is in.")
    trait = extend_schema_field(OpenApiTypes.STR)(  # type: ignore[type-var]  # filters are right, the hint forgets them
        django_filters.ModelMultipleChoiceFilter(
            field_name="trait_rows__trait__name",
            to_field_name="name",
            queryset=Trait.objects.all(),
            conjoined=True,
            label="Has all of these traits.",
        )
    )
    resource_class = django_filters.CharFilter(
        field_name="inventories__resource_class__name", label="Has an inventory of this class."
    )
    roots = YesNoFilter(field_name="parent", lookup_expr="isnull", label="In no other provider.")
    aggregate = django_filters.UUIDFilter(field_name="aggregate_rows__aggregate__uuid", label="In this aggregate.")
    consumer = django_filters.UUIDFilter(
        field_name="allocations__consumer__uuid", distinct=True, label="Of which this consumer holds something."
    )

    class Meta:
        model = ResourceProvider
        fields = ["uuid", "name"]

    @classmethod
    def condition_of(cls, word: str) -> Q:
        """Also by its traits, and by the classes of its inventories."""
        traits = ProviderTrait.objects.filter(trait__name__icontains=word)
        classes = Inventory.objects.filter(resource_class__name__icontains=word)
        found = super().condition_of(word) | Q(pk__in=traits.values("provider_id"))
        return found | Q(pk__in=classes.values("provider_id"))

    def by_tree(self, rows: "QuerySet[ResourceProvider]", _name: str, value: UUID) -> "QuerySet[ResourceProvider]":
        """All providers with the same root."""
        return rows.filter(root__tree__uuid=value)


class AllocationFilterSet(ListFilterSet):
    """?consumer= (uuid), ?provider= (uuid), ?resource_class=, ?project_id=, ?user_id=, ?consumer_type="""

    consumer = django_filters.UUIDFilter(field_name="consumer__uuid")
    provider = django_filters.UUIDFilter(field_name="provider__uuid")
    resource_class = django_filters.CharFilter(field_name="resource_class__name")
    project_id = django_filters.CharFilter(field_name="consumer__project_id")
    user_id = django_filters.CharFilter(field_name="consumer__user_id")
    consumer_type = django_filters.CharFilter(field_name="consumer__consumer_type")

    class Meta:
        model = Allocation
        fields: list[str] = []


class ResourceClassFilterSet(ListFilterSet):
    """Filters of the list of resource classes: part of the name, custom ones or not."""

    search = django_filters.CharFilter(field_name="name", lookup_expr="icontains", label="Part of the name.")
    custom = YesNoFilter(method="by_custom", label="Made by operators and drivers.")

    class Meta:
        model = ResourceClass
        fields = ["name"]

    def by_custom(self, rows: "QuerySet[ResourceClass]", _name: str, value: bool) -> "QuerySet[ResourceClass]":
        """Made by operators and drivers, or standard."""
        return rows.filter(name__startswith="CUSTOM_") if value else rows.exclude(name__startswith="CUSTOM_")


class TraitFilterSet(ListFilterSet):
    """?search=, ?custom=true|false, ?associated=true|false (some provider has it, or none)"""

    search = django_filters.CharFilter(field_name="name", lookup_expr="icontains", label="Part of the name.")
    custom = YesNoFilter(method="by_custom", label="Made by operators and drivers.")
    associated = YesNoFilter(
        field_name="provider_rows", lookup_expr="isnull", exclude=True, distinct=True, label="Some provider has it."
    )

    class Meta:
        model = Trait
        fields = ["name"]

    def by_custom(self, rows: "QuerySet[Trait]", _name: str, value: bool) -> "QuerySet[Trait]":
        """Made by operators and drivers, or standard."""
        return rows.filter(name__startswith="CUSTOM_") if value else rows.exclude(name__startswith="CUSTOM_")
