"""Resource classes and traits."""

from rest_framework.mixins import ListModelMixin, RetrieveModelMixin
from rest_framework.viewsets import GenericViewSet

from placement.api.serializers.names import ResourceClassOutput, TraitOutput
from placement.filtersets import ResourceClassFilterSet, TraitFilterSet
from placement.models import ResourceClass, Trait
from placement.selectors import resource_class_list, trait_list

NAME_PATTERN = "[A-Z0-9_]+"


class ResourceClassViewSet(ListModelMixin, RetrieveModelMixin, GenericViewSet[ResourceClass]):
    """Kinds of things that can be counted. For everybody with a role."""

    policy = {"list": "placement:names", "retrieve": "placement:names"}
    queryset = resource_class_list()
    serializer_class = ResourceClassOutput
    filterset_class = ResourceClassFilterSet
    lookup_field = "name"
    lookup_value_regex = NAME_PATTERN
    ordering_fields = ["name"]


class TraitViewSet(ListModelMixin, RetrieveModelMixin, GenericViewSet[Trait]):
    """Qualities that a provider has or lacks. For everybody with a role."""

    policy = {"list": "placement:names", "retrieve": "placement:names"}
    queryset = trait_list()
    serializer_class = TraitOutput
    filterset_class = TraitFilterSet
    lookup_field = "name"
    lookup_value_regex = NAME_PATTERN
    ordering_fields = ["name"]
