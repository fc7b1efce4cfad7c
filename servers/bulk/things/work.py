"""Work in bulk jobs: woken again, or cancelled. A job does not touch the work of bulk jobs: it would end itself."""

import uuid
from collections.abc import Mapping, Sequence

from django.http import QueryDict

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _
from controlplane.work.control import Operator, work_cancel_one, work_get, work_retry, works
from servers.bulk.things.thing import BulkThing, matching_rows
from servers.filtersets_instance import InstanceWorkFilterSet
from servers.instances.work_kinds import BULK_ACT
from servers.models import BulkJob, BulkJobItem


def _names(_caller: Caller, ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, str]:
    rows = works().order_by().filter(pk__in=ids).values_list("pk", "kind", "subject")
    return {pk: f"{kind} of {subject}" for pk, kind, subject in rows}


def _matching(_caller: Caller, filters: QueryDict, _all_projects: bool, limit: int) -> list[uuid.UUID]:
    return matching_rows(InstanceWorkFilterSet, works(), filters, limit)


def _ask(job: BulkJob, item: BulkJobItem, caller: Caller) -> None:
    if work_get(work_id=item.subject).kind == BULK_ACT:
        raise Conflict(_("It is the work of a bulk job. Cancel that job on its own page."))
    operator = Operator(user_id=caller.user_id, name=caller.username)
    if job.action == "retry":
        work_retry(work_id=item.subject, operator=operator)
    else:
        work_cancel_one(work_id=item.subject, operator=operator)


WORK = BulkThing(_names, _matching, _ask)
