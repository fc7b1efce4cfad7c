"""Answers of the scheduler: try a request, ask why not, see how much room there is. Nothing is written."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from controlplane.kernel.errors import Invalid
from controlplane.kernel.ids import parse_uuid
from servers.api.serializers.schedule import (
    BatchInput,
    CapacityOutput,
    ExplainInput,
    ExplainOutput,
    InlineFlavorInput,
    PolicyBatchAnswer,
    RunOutput,
    SimulateInput,
    fleet_edits,
)
from servers.trials.policy_batch import policy_batch_trial
from servers.trials.schedule_trial import TrialWanted, capacity_imagined, capacity_matrix, trial_explain, trial_simulate


class SimulateView(APIView):
    """A dry run of the whole scheduling on the present fleet."""

    policy = {"post": "schedule:simulate"}

    @extend_schema(operation_id="schedule_simulate", request=SimulateInput, responses=RunOutput)
    def post(self, request: Request) -> Response:
        """Where it would go now. Tenants see verdict, funnel and reasons; admins all, and what-if edits work."""
        body = SimulateInput(data=request.data)
        body.is_valid(raise_exception=True)
        return Response(trial_simulate(caller=caller_of(request), wanted=_wanted(body.validated_data)))


class ExplainView(APIView):
    """Why not, and what would make it fit."""

    policy = {"post": "schedule:explain"}

    @extend_schema(operation_id="schedule_explain", request=ExplainInput, responses=ExplainOutput)
    def post(self, request: Request) -> Response:
        """Every change in the answer was found good by a run. `host` and changes of policy and fleet are for admins."""
        body = ExplainInput(data=request.data)
        body.is_valid(raise_exception=True)
        fields: dict[str, Any] = body.validated_data
        host, force = fields.pop("host", None), fields.pop("force")
        answer = trial_explain(caller=caller_of(request), wanted=_wanted(fields), host=host, every_rule=force)
        return Response(answer)


class CapacityView(APIView):
    """How many more instances of each flavor fit."""

    policy = {"get": "capacity:read", "post": "capacity:read"}

    @extend_schema(operation_id="capacity_imagined", request=InlineFlavorInput, responses=CapacityOutput)
    def post(self, request: Request) -> Response:
        """The same for a flavor that is stored nowhere: its sizes and extra specs as in a create of one."""
        body = InlineFlavorInput(data=request.data)
        body.is_valid(raise_exception=True)
        return Response(capacity_imagined(caller=caller_of(request), sizes=body.validated_data))

    @extend_schema(
        operation_id="capacity",
        responses=CapacityOutput,
        parameters=[
            OpenApiParameter("flavor", OpenApiTypes.STR, many=True, description="Id or name, several times; else all."),
            OpenApiParameter("zone", OpenApiTypes.STR, description="This zone alone."),
            OpenApiParameter("project", OpenApiTypes.UUID, description="As this project, for hosts kept for tenants."),
            OpenApiParameter("policy", OpenApiTypes.STR, description="A version's id or label; else the active one."),
        ],
    )
    def get(self, request: Request) -> Response:
        """By zone and in all, with what binds, and with the largest host of each zone lost."""
        query = request.query_params
        project = query.get("project", "")
        project_id = parse_uuid(project) if project else None
        if project and project_id is None:
            raise Invalid("project is the id of a project.", field="project")
        answer = capacity_matrix(
            caller=caller_of(request),
            flavors=query.getlist("flavor"),
            zone=query.get("zone") or None,
            project_id=project_id,
            policy=query.get("policy") or None,
        )
        return Response(answer)


class PolicyBatchView(APIView):
    """What a version of the policy would make of a batch."""

    policy = {"post": "policies:read"}

    @extend_schema(operation_id="policy_batch", request=BatchInput, responses=PolicyBatchAnswer)
    def post(self, request: Request, pk: str) -> Response:
        """Hosts used, the fullest host, failures and room left, under this version and under the active one."""
        body = BatchInput(data=request.data)
        body.is_valid(raise_exception=True)
        fields: dict[str, Any] = body.validated_data
        wanted = None
        if flavor := fields.get("flavor"):
            wanted = TrialWanted(
                flavor=flavor, image=fields["image"], availability_zone=fields["availability_zone"], count=1
            )
        answer = policy_batch_trial(
            caller=caller_of(request),
            policy_id=uuid_in_path(pk, what="Policy"),
            last=fields["last"],
            wanted=wanted,
            count=fields["count"],
        )
        return Response(answer)


def _wanted(fields: dict[str, Any]) -> TrialWanted:
    edits = fields.pop("edits", {})
    return TrialWanted(**fields, policy=edits.get("policy"), edits=fleet_edits(edits))
