"""Instances: list, create, show, delete, act, console log, journey, counters."""

from collections.abc import Iterable
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.viewsets import GenericViewSet

from controlplane.identity.api.callers import caller_of
from controlplane.identity.api.operator_filters import OperatorFilters
from controlplane.infra.api.identifiers import uuid_in_path
from controlplane.kernel.errors import Forbidden
from servers.api.query_flags import flag_in_query
from servers.api.serializers.again import AgainInput
from servers.api.serializers.counters import CountersOutput, counters_document
from servers.api.serializers.instance_create import InstanceInput
from servers.api.serializers.instances import (
    ActionOfferOutput,
    InstanceActedOutput,
    InstanceActionInput,
    InstanceOutput,
    InstanceUpdateInput,
    JourneyOutput,
    MetadataItemInput,
    ResetStateInput,
)
from servers.api.serializers.rescue import RebuildInput, RescueInput
from servers.api.views.guest_password import InstanceGuestPassword
from servers.api.views.instance_again import InstanceAgain
from servers.api.views.instance_interfaces import InstanceInterfaces
from servers.api.views.instance_volumes import InstanceVolumes
from servers.api.views.instance_watching import InstanceWatching
from servers.filtersets_instance import instance_filters
from servers.filtersets_pending import pending_matching
from servers.instances.actions.lifecycle import CREATE, DELETE, SCHEDULE_AGAIN
from servers.instances.actions.record import RESET_STATE, UPDATE
from servers.instances.actions.rescue import REBUILD, RESCUE
from servers.instances.domain.action_offers import action_offers
from servers.instances.domain.guest_config_rules import admin_pass_new
from servers.instances.domain.instance_create import InstanceCreate
from servers.instances.domain.rebuild_rules import InstanceRebuild
from servers.instances.domain.state_reasons import shows_fault
from servers.instances.selectors.block_devices import instance_disks
from servers.instances.selectors.guest_counters import CountersSpan, guest_counters, span_of
from servers.instances.selectors.instances import (
    PendingFirst,
    instance_get,
    instance_tags_read,
    instances_visible,
    journey,
    latest_faults,
    pending_instances,
)
from servers.instances.selectors.interfaces import instance_interfaces
from servers.instances.selectors.silence import liveness_of, silence_of
from servers.instances.services.act import instance_act
from servers.instances.services.create import instances_create
from servers.instances.services.delete import instance_delete
from servers.instances.services.rescue import instance_rebuild, instance_rescue
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


class InstanceViewSet(
    OperatorFilters,
    InstanceWatching,
    InstanceGuestPassword,
    InstanceInterfaces,
    InstanceVolumes,
    InstanceAgain,
    GenericViewSet[Instance],
):
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
        "actions_offered": "instances:read",
        "schedule_again": SCHEDULE_AGAIN.policy,
        "rebuild": REBUILD.policy,
        "rescue": RESCUE.policy,
        "reset_state": RESET_STATE.policy,
        "journey": "instances:read",
        "counters": "instances:read",
        **InstanceWatching.policy,
        **InstanceGuestPassword.policy,
        **InstanceInterfaces.policy,
        **InstanceVolumes.policy,
        **InstanceAgain.policy,
    }
    queryset = Instance.objects.none()
    serializer_class = InstanceOutput
    filters_for = staticmethod(instance_filters)

    @property
    def ordering_fields(self) -> list[str]:
        """Only operators may sort by host: an order of hosts would tell tenants which instances share one."""
        return OPERATOR_ORDERINGS if self.asks_as_operator else ORDERINGS

    @extend_schema(parameters=[OpenApiParameter("all_projects", OpenApiTypes.BOOL, description="Admins only.")])
    def list(self, request: Request) -> Response:
        """Newest first. Instances without a row in a cell yet come before all others."""
        caller, everywhere = caller_of(request), flag_in_query(request, "all_projects")
        if everywhere and not caller.sees_all:
            raise Forbidden("Only administrators see the instances of every project.", field="all_projects")
        rows = self.filter_queryset(instances_visible(caller=caller, all_projects=everywhere))
        waiting = pending_instances(caller=caller, all_projects=everywhere)
        pending = pending_matching(waiting, request.query_params, is_admin=caller.sees_all)
        page = self.paginate_queryset(PendingFirst(pending, rows))  # type: ignore[arg-type]  # a sequence is all it needs
        return self.get_paginated_response(_shown(request, page or []))

    def retrieve(self, request: Request, pk: str) -> Response:
        """One instance by id, also before it has a row in a cell."""
        return Response(
            _one(request, instance_get(caller=caller_of(request), instance_id=uuid_in_path(pk, what="Instance")))
        )

    @extend_schema(request=InstanceInput, responses={202: InstanceOutput})
    def create(self, request: Request) -> Response:
        """Accepts 1 to max_count instances: 202 with the first, its uuid final, and the others under `instances`.

        `admin_pass`, given or made, is in this answer and in none after it. With `return_reservation_id` the answer is
        that id alone.
        """
        body = InstanceInput(data=request.data)
        body.is_valid(raise_exception=True)
        asked = dict(body.validated_data)
        is_reservation_asked = asked.pop("return_reservation_id")
        secret = _secret_of(asked)
        made = instances_create(caller=caller_of(request), wanted=InstanceCreate(**asked))
        if is_reservation_asked:
            said = {"reservation_id": str(made[0].reservation_id), **secret}
            return Response(said, status=status.HTTP_202_ACCEPTED)
        shown = _shown(request, made)
        location = reverse("instance-detail", kwargs={"pk": str(made[0].pk)}, request=request)
        return Response(
            {**shown[0], "instances": shown, **secret},
            status=status.HTTP_202_ACCEPTED,
            headers={"Location": location},
        )

    @extend_schema(request=InstanceUpdateInput, responses=InstanceOutput)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Changes what the body has of the record; the rest stays as it is."""
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
        instance_delete(caller=caller_of(request), instance_id=instance_id, is_forced=flag_in_query(request, "force"))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=InstanceActionInput, responses={202: InstanceActedOutput})
    @action(detail=True, methods=["post"], url_path="actions", pagination_class=None, filter_backends=())
    def actions(self, request: Request, pk: str) -> Response:
        """One action by its name; a reboot is a hard one."""
        body = InstanceActionInput(data=request.data)
        body.is_valid(raise_exception=True)
        arguments = dict(body.validated_data)
        action = arguments.pop("action")
        changed = instance_act(
            caller=caller_of(request), instance_id=uuid_in_path(pk, what="Instance"), action=action, arguments=arguments
        )
        shown = {**_one(request, changed), "made_image_id": changed.made_image_id}
        return Response(shown, status=status.HTTP_202_ACCEPTED)

    @extend_schema(responses=ActionOfferOutput(many=True))
    @actions.mapping.get
    def actions_offered(self, request: Request, pk: str) -> Response:
        """What the caller can do to it: each action of the table that his role has, and why it may not begin now."""
        caller = caller_of(request)
        instance = instance_get(caller=caller, instance_id=uuid_in_path(pk, what="Instance"))
        offers = action_offers(instance, caller, is_pending=instance.is_pending)
        return Response(ActionOfferOutput(offers, many=True).data)  # type: ignore[arg-type]  # many

    @extend_schema(request=AgainInput, responses={202: InstanceOutput})
    @action(detail=True, methods=["post"], url_path="schedule-again")
    def schedule_again(self, request: Request, pk: str) -> Response:
        """Ask once more for one in ERROR that found no host: as it was asked for then, but for what is named here.

        409 with the reason if not.
        """
        body = AgainInput(data=request.data)
        body.is_valid(raise_exception=True)
        caller, instance_id = caller_of(request), uuid_in_path(pk, what="Instance")
        instance_schedule_again(instance_id=instance_id, caller=caller, changes=body.changes)
        shown = _one(request, instance_get(caller=caller, instance_id=instance_id))
        return Response(shown, status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=RebuildInput, responses={202: InstanceOutput})
    @action(detail=True, methods=["post"])
    def rebuild(self, request: Request, pk: str) -> Response:
        """New disks from an image, on the same host; what is on the old ones is lost. Left out: as it is."""
        body = RebuildInput(data=request.data)
        body.is_valid(raise_exception=True)
        asked, instance_id = dict(body.validated_data), uuid_in_path(pk, what="Instance")
        secret = _secret_of(asked)
        changed = instance_rebuild(caller=caller_of(request), instance_id=instance_id, wanted=InstanceRebuild(**asked))
        return Response({**_one(request, changed), **secret}, status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=RescueInput, responses={202: InstanceOutput})
    @action(detail=True, methods=["post"])
    def rescue(self, request: Request, pk: str) -> Response:
        """Boots from a rescue disk, with its own disks beside it, until the action `unrescue`."""
        body = RescueInput(data=request.data)
        body.is_valid(raise_exception=True)
        asked, instance_id = dict(body.validated_data), uuid_in_path(pk, what="Instance")
        secret = _secret_of(asked)
        changed = instance_rescue(caller=caller_of(request), instance_id=instance_id, **asked)
        return Response({**_one(request, changed), **secret}, status=status.HTTP_202_ACCEPTED)

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
        context = {"caller": caller, "silence": silence_of(instance)}
        return Response(JourneyOutput(journey(instance.pk), context=context).data)


def _secret_of(asked: dict[str, Any]) -> dict[str, str]:
    """The password that is asked for, made now where one is to be made: an answer says it this one time."""
    if asked.pop("generate_admin_pass", False):
        asked["admin_pass"] = admin_pass_new()
    return {"admin_pass": asked["admin_pass"]} if asked.get("admin_pass") else {}


def _one(request: Request, instance: Instance) -> dict[str, Any]:
    return _shown(request, [instance])[0]


def _shown(request: Request, instances: Iterable[Instance]) -> list[dict[str, Any]]:
    rows = list(instances)
    instance_tags_read(rows)
    failed = [row.pk for row in rows if not row.is_pending and shows_fault(row)]
    return InstanceOutput.shown(
        rows,
        caller=caller_of(request),
        faults=latest_faults(failed),
        interfaces=instance_interfaces(rows),
        disks=instance_disks(rows),
        hosts=liveness_of(rows),
    )
