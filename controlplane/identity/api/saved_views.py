"""Saved views of lists."""

import uuid

from django.db.models import QuerySet
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import ModelViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.identity.api.serializers import SavedViewBody
from controlplane.identity.filtersets import SavedViewFilterSet
from controlplane.identity.models import SavedView
from controlplane.identity.selectors.saved_views import saved_views_visible
from controlplane.identity.services.saved_views import saved_view_create, saved_view_delete, saved_view_update


class SavedViewViewSet(ModelViewSet[SavedView]):
    """The caller's own views and those that are shared; changed by their owner, or by an admin."""

    policy = dict.fromkeys(("list", "retrieve"), "saved_views:read") | dict.fromkeys(
        ("create", "update", "partial_update", "destroy"), "saved_views:write"
    )
    queryset = SavedView.objects.none()
    serializer_class = SavedViewBody
    filterset_class = SavedViewFilterSet
    ordering_fields = ["list", "name", "created_at"]
    http_method_names = ["get", "post", "patch", "delete", "head", "options"]
    lookup_value_regex = "[0-9a-fA-F-]{32,36}"

    def get_queryset(self) -> QuerySet[SavedView]:
        """What the caller sees."""
        if getattr(self, "swagger_fake_view", False):
            return SavedView.objects.none()
        return saved_views_visible(caller=caller_of(self.request)).order_by("list", "name", "id")

    def perform_create(self, serializer: BaseSerializer[SavedView]) -> None:
        """Of the caller, in the caller's project."""
        serializer.instance = saved_view_create(caller=caller_of(self.request), **serializer.validated_data)

    def perform_update(self, serializer: BaseSerializer[SavedView]) -> None:
        """What is given."""
        view_id: uuid.UUID = self.get_object().pk
        caller = caller_of(self.request)
        serializer.instance = saved_view_update(caller=caller, view_id=view_id, **serializer.validated_data)

    def perform_destroy(self, instance: SavedView) -> None:
        """Nothing else goes with it."""
        saved_view_delete(caller=caller_of(self.request), view_id=instance.pk)
