"""What would help an instance that found no host."""

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from servers.api.serializers.again import NextStepsOutput
from servers.trials.next_steps import instance_next_steps


class InstanceAgain:
    """An action of `InstanceViewSet`."""

    policy = {"next_steps": "schedule:explain"}

    @extend_schema(responses=NextStepsOutput)
    @action(detail=True, methods=["get"], url_path="next-steps")
    def next_steps(self, request: Request, pk: str) -> Response:
        """Whether one that found no host would find one now, and what would help. Each step was run; nothing is
        written. 409 for one that cannot be scheduled again.
        """
        instance_id = uuid_in_path(pk, what="Instance")
        found = instance_next_steps(caller=caller_of(request), instance_id=instance_id)
        return Response(NextStepsOutput(found).data)
