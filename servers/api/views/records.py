"""The rows that a request goes through, for operators, read-only."""

from typing import Any

from rest_framework import serializers
from rest_framework.viewsets import ReadOnlyModelViewSet

from servers.api.serializers.instances import ActionOutput, FaultAdminOutput
from servers.models import BuildRequest, InstanceAction, InstanceFault, InstanceMapping, RequestSpec

READ = {"list": "work:read", "retrieve": "work:read"}


class RequestSpecOutput(serializers.ModelSerializer[RequestSpec]):
    """What was asked for."""

    class Meta:
        model = RequestSpec
        fields = ["instance_uuid", "reservation_id", "project_id", "user_id", "body", "created_at"]


class BuildRequestOutput(serializers.ModelSerializer[BuildRequest]):
    """Asked for, and in no cell yet."""

    class Meta:
        model = BuildRequest
        fields = ["instance_uuid", "project", "reservation_id", "batch_index", "request_id", "created_at"]


class InstanceMappingOutput(serializers.ModelSerializer[InstanceMapping]):
    """The cell in which an instance is; null while it has none."""

    class Meta:
        model = InstanceMapping
        fields = ["instance_uuid", "cell_id", "project", "created_at"]


class ActionViewSet(ReadOnlyModelViewSet[InstanceAction]):
    """Verbs of all instances. Admins only; owners read the journey of their instance."""

    policy = READ
    queryset = InstanceAction.objects.prefetch_related("events")
    serializer_class = ActionOutput
    filterset_fields = ["instance_uuid", "action", "request_id", "result", "project_id"]
    ordering_fields = ["started_at", "finished_at"]


class FaultViewSet(ReadOnlyModelViewSet[InstanceFault]):
    """Faults of all instances. Admins only."""

    policy = READ
    queryset = InstanceFault.objects.all()
    serializer_class = FaultAdminOutput
    filterset_fields = ["instance_uuid", "host", "step", "code"]
    ordering_fields = ["created_at"]


class _ByInstance(ReadOnlyModelViewSet[Any]):
    policy = READ
    lookup_field = "instance_uuid"
    lookup_value_regex = "[0-9a-f-]{36}"
    ordering_fields = ["created_at"]


class RequestSpecViewSet(_ByInstance):
    """Request specs. Admins only."""

    queryset = RequestSpec.objects.all()
    serializer_class = RequestSpecOutput
    filterset_fields = ["instance_uuid", "reservation_id", "project_id"]


class BuildRequestViewSet(_ByInstance):
    """Build requests. Admins only."""

    queryset = BuildRequest.objects.all()
    serializer_class = BuildRequestOutput
    filterset_fields = ["instance_uuid", "reservation_id", "project"]


class InstanceMappingViewSet(_ByInstance):
    """Instance mappings. Admins only."""

    queryset = InstanceMapping.objects.all()
    serializer_class = InstanceMappingOutput
    filterset_fields = ["instance_uuid", "cell_id", "project"]
