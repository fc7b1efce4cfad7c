"""Instances: list, create, show, delete, act, console log, journey, counters."""

from collections.abc import Iterable
from typing import Any

from django.db.models import prefetch_related_objects
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.viewsets import GenericViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.infra.api.identifiers import uuid_in_path
from controlplane.kernel.booleans import is_boolean, is_true
from controlplane.kernel.errors import Invalid
from servers.api.serializers.counters import CountersOutput, counters_document
from servers.api.serializers.instances import (
    InstanceActionInput,
    InstanceInput,
    InstanceOutput,
    InstanceUpdateInput,
    JourneyOutput,
    MetadataItemInput,
    ResetStateInput,
)
from servers.filtersets_instance import InstanceFilterSet, instance_filters
from servers.instances.actions.table import CREATE, DELETE, RESET_STATE, SCHEDULE_AGAIN, UPDATE
from servers.instances.selectors.guest_counters import CountersSpan, guest_counters, span_of
from servers.instances.selectors.instances import (
    PendingFirst,
    console_log_tail,
    instance_get,
    instances_visible,
    journey,
    latest_faults,
    pending_instances,
)
from servers.instances.services.act import instance_act
from servers.instances.services.create import InstanceCreate, instances_create
from servers.instances.services.delete import instance_delete
from servers.instances.services.reset_state import instance_reset_state
from servers.instances.services.schedule_again import instance_schedule_again
from servers.instances.services.update import (
    instance_update,
    metadata_item_delete,
    metadata_item_set,
    tag_add,
    tag_remove,
)
from servers.models import Instance

ORDERINGS = ["created_at", "name", "vm_state", "launched_at"]
OPERATOR_ORDERINGS = [*ORDERINGS, "host"]


class InstanceViewSet(GenericViewSet[Instance]):
    """Virtual machines of the caller's project; admins see all with `?all_projects=1`."""

    policy = {
        "list": "instances:read",
        "retrieve": "instances:read",
        "create": CREATE.policy,
        "partial_update": UPDATE.policy,
        "metadata_item": UPDATE.policy,
        "metadata_item_remove": UPDATE.policy,
        "tag": UPDATE.policy,
        "tag_remove": UPDATE.policy,
        "destroy": DELETE.policy,
        "actions": "instances:act",  # and what the action's own row says
        "schedule_again": SCHEDULE_AGAIN.policy,
        "reset_state": RESET_STATE.policy,
        "console_log": "instances:read",
        "journey": "instances:read",
        "counters": "instances:read",
    }
    queryset = Instance.objects.none()
    serializer_class = InstanceOutput

    @property
    def filterset_class(self) -> type[InstanceFilterSet]:
        """Only operators may filter by host."""
        return instance_filters(is_admin=self._shows_hosts())

    @property
    def ordering_fields(self) -> list[str]:
        """Only operators may sort by host: an order of hosts would tell tenants which instances share one."""
        return OPERATOR_ORDERINGS if self._shows_hosts() else ORDERINGS

    def _shows_hosts(self) -> bool:
        return getattr(self, "swagger_fake_view", False) or caller_of(self.request).is_admin

    def list(self, request: Request) -> Response:
        """Newest first. Instances without a row in a cell yet come before all others."""
        caller = caller_of(request)
        everywhere = request.query_params.get("all_projects", "") in {"1", "true", "yes"}
        rows = self.filter_queryset(instances_visible(caller=caller, all_projects=everywhere))
        waiting = pending_instances(caller=caller, all_projects=everywhere)
        pending = self.filterset_class.pending(waiting, request.query_params)
        page = self.paginate_queryset(PendingFirst(pending, rows))  # type: ignore[arg-type]  # a sequence is all it needs
        return self.get_paginated_response(_shown(request, page or []))

    def retrieve(self, request: Request, pk: str) -> Response:
        """One instance by id, also before it has a row in a cell."""
        return Response(
            _one(request, instance_get(caller=caller_of(request), instance_id=uuid_in_path(pk, what="Instance")))
        )

    @extend_schema(request=InstanceInput, responses={202: InstanceOutput})
    def create(self, request: Request) -> Response:
        """Accepts 1 to max_count instances: 202 with the first, its uuid final, and the others under `instances`."""
        body = InstanceInput(data=request.data)
        body.is_valid(raise_exception=True)
        made = instances_create(caller=caller_of(request), wanted=InstanceCreate(**body.validated_data))
        shown = _shown(request, made)
        location = reverse("instance-detail", kwargs={"pk": str(made[0].pk)}, request=request)
        return Response(
            {**shown[0], "instances": shown}, status=status.HTTP_202_ACCEPTED, headers={"Location": location}
        )

    @extend_schema(request=InstanceUpdateInput, responses=InstanceOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Changes name, description, metadata and tags; what the body does not have stays as it is."""
        body = InstanceUpdateInput(data=request.data)
        body.is_valid(raise_exception=True)
        changes = dict(body.validated_data)
        etag = changes.pop("etag", None)
        changed = instance_update(
            caller=caller_of(request), instance_id=uuid_in_path(pk, what="Instance"), changes=changes, etag=etag
        )
        return Response(_one(request, changed))

    @extend_schema(request=MetadataItemInput, responses=InstanceOutput)
    @action(detail=True, methods=["put"], url_path="metadata/(?P<key>[^/]+)")
    def metadata_item(self, request: Request, pk: str, key: str) -> Response:
        """Sets one metadata item; the others stay."""
        body = MetadataItemInput(data=request.data)
        body.is_valid(raise_exception=True)
        caller, instance_id = caller_of(request), uuid_in_path(pk, what="Instance")
        changed = metadata_item_set(caller=caller, instance_id=instance_id, key=key, value=body.validated_data["value"])
        return Response(_one(request, changed))

    @extend_schema(responses={204: None})
    @metadata_item.mapping.delete
    def metadata_item_remove(self, request: Request, pk: str, key: str) -> Response:
        """Removes one metadata item; 404 where it has none of this key."""
        metadata_item_delete(caller=caller_of(request), instance_id=uuid_in_path(pk, what="Instance"), key=key)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses=InstanceOutput)
    @action(detail=True, methods=["put"], url_path="tags/(?P<tag>[^/]+)")
    def tag(self, request: Request, pk: str, tag: str) -> Response:
        """Puts a tag on it, once."""
        changed = tag_add(caller=caller_of(request), instance_id=uuid_in_path(pk, what="Instance"), tag=tag)
        return Response(_one(request, changed))

    @extend_schema(responses={204: None})
    @tag.mapping.delete
    def tag_remove(self, request: Request, pk: str, tag: str) -> Response:
        """Takes a tag off; 404 where it has none such."""
        tag_remove(caller=caller_of(request), instance_id=uuid_in_path(pk, what="Instance"), tag=tag)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        parameters=[OpenApiParameter("force", OpenApiTypes.BOOL, description="For good and at once.")],
        responses={204: None},
    )
    def destroy(self, request: Request, pk: str) -> Response:
        """Deletes it, in whatever state it is; where so configured, it can be restored for a time."""
        instance_id = uuid_in_path(pk, what="Instance")
        instance_delete(caller=caller_of(request), instance_id=instance_id, is_forced=_force(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=InstanceActionInput, responses={202: InstanceOutput})
    @action(detail=True, methods=["post"], url_path="actions")
    def actions(self, request: Request, pk: str) -> Response:
        """One action by its name; a reboot is a hard one."""
        body = InstanceActionInput(data=request.data)
        body.is_valid(raise_exception=True)
        arguments = dict(body.validated_data)
        action = arguments.pop("action")
        changed = instance_act(
            caller=caller_of(request), instance_id=uuid_in_path(pk, what="Instance"), action=action, arguments=arguments
        )
        return Response(_one(request, changed), status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=None, responses={202: InstanceOutput})
    @action(detail=True, methods=["post"], url_path="schedule-again")
    def schedule_again(self, request: Request, pk: str) -> Response:
        """Ask once more for one in ERROR that found no host, as it was asked for then. 409 with the reason if not."""
        caller, instance_id = caller_of(request), uuid_in_path(pk, what="Instance")
        instance_schedule_again(instance_id=instance_id, caller=caller)
        shown = _one(request, instance_get(caller=caller, instance_id=instance_id))
        return Response(shown, status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=ResetStateInput, responses=InstanceOutput)
    @action(detail=True, methods=["post"], url_path="reset-state")
    def reset_state(self, request: Request, pk: str) -> Response:
        """Admins: it is `active` or `error` from now on, with no task. 409 while work for it is open."""
        body = ResetStateInput(data=request.data)
        body.is_valid(raise_exception=True)
        instance_id = uuid_in_path(pk, what="Instance")
        changed = instance_reset_state(caller=caller_of(request), instance_id=instance_id, **body.validated_data)
        return Response(_one(request, changed))

    @extend_schema(
        parameters=[OpenApiParameter("lines", OpenApiTypes.INT, description="How many lines of the end; 100.")],
        responses={200: OpenApiTypes.OBJECT},
    )
    @action(detail=True, methods=["get"], url_path="console-log")
    def console_log(self, request: Request, pk: str) -> Response:
        """The end of the serial log."""
        instance = instance_get(caller=caller_of(request), instance_id=uuid_in_path(pk, what="Instance"))
        return Response({"output": console_log_tail(instance_id=instance.pk, lines=_lines(request))})

    @extend_schema(
        parameters=[OpenApiParameter("span", enum=[*CountersSpan], description="How far back; hour.")],
        responses=CountersOutput,
    )
    @action(detail=True, methods=["get"])
    def counters(self, request: Request, pk: str) -> Response:
        """What it has used: an hour by the minute, or a day by five minutes. Empty where nobody has counted."""
        span = span_of(request.query_params.get("span", CountersSpan.HOUR.value))
        instance = instance_get(caller=caller_of(request), instance_id=uuid_in_path(pk, what="Instance"))
        return Response(counters_document(guest_counters(instance, span)))

    @extend_schema(responses=JourneyOutput)
    @action(detail=True, methods=["get"])
    def journey(self, request: Request, pk: str) -> Response:
        """What happened to it, step by step."""
        caller = caller_of(request)
        instance = instance_get(caller=caller, instance_id=uuid_in_path(pk, what="Instance"))
        return Response(JourneyOutput(journey(instance.pk), context={"caller": caller}).data)


def _one(request: Request, instance: Instance) -> dict[str, Any]:
    return _shown(request, [instance])[0]


def _shown(request: Request, instances: Iterable[Instance]) -> list[dict[str, Any]]:
    rows = list(instances)
    prefetch_related_objects([row for row in rows if not row.is_pending], "tags")
    context = {"caller": caller_of(request), "faults": latest_faults([row.pk for row in rows if not row.is_pending])}
    output = InstanceOutput(rows, many=True, context=context)  # type: ignore[arg-type]  # many
    return list(output.data)


def _lines(request: Request) -> int:
    raw = request.query_params.get("lines", "100")
    if not raw.isdecimal() or not 0 < int(raw) <= 10_000:
        raise Invalid("lines must be a whole number from 1 to 10000.", field="lines")
    return int(raw)


def _force(request: Request) -> bool:
    raw = request.query_params.get("force", "no")
    if not is_boolean(raw):
        raise Invalid("force is yes or no.", field="force")
    return is_true(raw)
