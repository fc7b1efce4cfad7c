"""Instances in bulk jobs: the actions of the table, each followed by its instance action."""

import uuid
from collections.abc import Mapping, Sequence

from django.http import QueryDict

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from servers.bulk.domain import BulkItemState
from servers.bulk.things.thing import DONE, RUNNING, BulkThing, ItemEnd, ItemEnds, filters_require, matching_rows
from servers.filtersets_instance import instance_filters
from servers.filtersets_pending import pending_matching
from servers.instances.actions.lifecycle import DELETE, FORCE_DELETE, SCHEDULE_AGAIN
from servers.instances.actions.table import ACTIONS
from servers.instances.selectors.instances import instances_visible, pending_instances
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.instances.services.schedule_again import instance_schedule_again
from servers.models import BuildRequest, BulkJob, BulkJobItem, Instance, InstanceAction


def _names(caller: Caller, ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, str]:
    """Rows, and what has none yet. Two queries."""
    rows = Instance.objects.filter(pk__in=ids, deleted_at__isnull=True)
    waiting = BuildRequest.objects.filter(instance_uuid__in=ids)
    if not caller.is_admin:
        rows, waiting = rows.filter(project_id=caller.project_id), waiting.filter(project_id=caller.project_id)
    names = {one.instance_uuid: one.typed_body.name for one in waiting}
    return names | dict(rows.values_list("pk", "name"))


def _matching(caller: Caller, filters: QueryDict, all_projects: bool, limit: int) -> list[uuid.UUID]:
    filter_class = instance_filters(is_admin=caller.is_admin)
    filters_require(filter_class, filters)
    every = pending_instances(caller=caller, all_projects=all_projects)
    waiting = pending_matching(every, filters, is_admin=caller.is_admin)
    rows = instances_visible(caller=caller, all_projects=all_projects).order_by("-created_at", "pk")
    ids = [*waiting.values_list("instance_uuid", flat=True)[:limit]]
    ids += matching_rows(filter_class, rows, filters, limit)
    return list(dict.fromkeys(ids))[:limit]


def _ask(job: BulkJob, item: BulkJobItem, caller: Caller) -> int | None:
    rule = ACTIONS[job.action]
    if rule.is_verb:
        instance_act(caller=caller, instance_id=item.subject, action=rule.name)
    elif rule is SCHEDULE_AGAIN:
        instance_schedule_again(caller=caller, instance_id=item.subject)
    elif rule in (DELETE, FORCE_DELETE):
        instance_delete(caller=caller, instance_id=item.subject, is_forced=rule is FORCE_DELETE)
    else:
        raise Invalid(_("{title} cannot be asked for many instances.", title=rule.title), field="action")
    begun = InstanceAction.objects.filter(instance_uuid=item.subject, request_id=job.request_id)
    action = begun.filter(pk__gt=item.action_id or 0).order_by("-pk").first()
    return action.pk if action else None  # there was nothing to do, or nothing to follow


def _ends(items: Sequence[BulkJobItem]) -> ItemEnds:
    actions = InstanceAction.objects.in_bulk([one.action_id for one in items if one.action_id])
    return {item.pk: _end(actions.get(item.action_id or 0)) for item in items}


def _end(action: InstanceAction | None) -> ItemEnd:
    if action is None or action.result == "success":
        return DONE
    if not action.result:
        return RUNNING
    return BulkItemState.FAILED, action.message or _("The action ended as {result}.", result=action.result)


INSTANCES = BulkThing(_names, _matching, _ask, _ends)
