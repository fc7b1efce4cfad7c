"""Changes of an instance's devices wait for each other, as those who ask Nova for several at once expect: cards and
volumes come and go one at a time, and who asks while one does is accepted and comes next.
"""

import uuid
from collections.abc import Mapping
from types import MappingProxyType

from controlplane.identity.domain import Caller
from controlplane.infra.request_id import current_request_id
from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work
from controlplane.work.models.work import OPEN_STATES
from servers.instances.actions.rule import ActionRule
from servers.instances.actions.table import HOST_ACTIONS
from servers.instances.services.host_action import host_action_begin
from servers.instances.services.state import state_set
from servers.models import Instance, WaitingAction

MAX_WAITING = 20
"""Of one instance. Who asks for more is told to ask again: nobody else's action begins before all of them ended."""
DEVICE_WORK = frozenset(kind for kind, rule in HOST_ACTIONS.items() if rule.waits_behind)


def device_action_ask(
    row: Instance,
    rule: ActionRule,
    caller: Caller,
    *,
    arguments: Mapping[str, str],
    changes: Mapping[str, bool] = MappingProxyType({}),
) -> None:
    """Have the host do it, now or after those that wait already. `row` is under its lock (`row_locked`), so that none
    ends meanwhile unseen. `changes`: columns of the instance that change with the request.

    Raises Conflict where the instance is busy with anything else, or too many wait.
    """
    if not row.task_state:
        vm_in, task_in = rule.vm_states, rule.task_states
        user = caller.user_id
        host_action_begin(row, rule, user_id=user, vm_in=vm_in, task_in=task_in, arguments=arguments, changes=changes)
        return
    _work_under_way(row)
    if WaitingAction.objects.filter(instance_uuid=row.pk).count() >= MAX_WAITING:
        raise Conflict(
            _(
                "{max_waiting} changes of the instance's devices wait already: ask again when one has ended.",
                max_waiting=MAX_WAITING,
            )
        )
    if changes:
        state_set(row.pk, vm_in={row.vm_state}, task_in={row.task_state}, **changes)
    WaitingAction.objects.create(
        instance_uuid=row.pk,
        action=rule.name,
        arguments=dict(arguments),
        user_id=caller.user_id,
        request_id=current_request_id(),
    )


def device_at_rest_require(row: Instance, argument: str, device_id: uuid.UUID, *, field: str) -> None:
    """Raises Conflict while the device, which this argument of the work names, is being added or taken away, or waits
    for it. `row` is under its lock.
    """
    if not row.task_state:
        return
    named = str(device_id)
    waiting = WaitingAction.objects.filter(instance_uuid=row.pk).values_list("arguments", flat=True)
    if named in {str(one.get(argument, "")) for one in (_work_under_way(row).arguments, *waiting)}:
        raise Conflict(
            _("The {field} {named} is just being added or taken away.", field=field, named=named), field=field
        )


def _work_under_way(row: Instance) -> Work:
    """Raises Conflict where it is none of a device."""
    work = Work.objects.filter(subject=row.pk, kind__in=DEVICE_WORK, state__in=OPEN_STATES).first()
    if work is None:
        raise Conflict(_("The instance is busy with {task_state}.", task_state=row.task_state))
    return work
