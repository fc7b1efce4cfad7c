"""What happened to an instance, for people: actions, their steps, attempts and faults."""

import uuid
from datetime import datetime

from django.db.models import F
from django.db.models.functions import Now

from controlplane.infra.models import Work
from controlplane.infra.request_id import current_request_id
from servers.models import AttemptRecord, InstanceAction, InstanceActionEvent, InstanceFault


def action_open(
    *, instance_id: uuid.UUID, action: str, user_id: uuid.UUID | None, project_id: uuid.UUID, work: Work | None
) -> InstanceAction:
    """Begin a verb."""
    return InstanceAction.objects.create(
        instance_uuid=instance_id,
        action=action,
        request_id=current_request_id(),
        user_id=user_id,
        project_id=project_id,
        work_id=work.pk if work else None,
        started_at=Now(),
    )


def action_close(*, instance_id: uuid.UUID, actions: tuple[str, ...], result: str, message: str = "") -> None:
    """End the open ones among `actions`; ended ones keep their result."""
    rows = InstanceAction.objects.filter(instance_uuid=instance_id, action__in=actions, finished_at__isnull=True)
    rows.update(finished_at=Now(), result=result, message=message)


def actions_cancel(*, instance_id: uuid.UUID, message: str) -> None:
    """End every open action: something stronger took over."""
    rows = InstanceAction.objects.filter(instance_uuid=instance_id, finished_at__isnull=True)
    rows.update(finished_at=Now(), result="cancelled", message=message)


def actions_fail(*, instance_id: uuid.UUID, message: str) -> None:
    """End every open action: nobody works on it any more."""
    rows = InstanceAction.objects.filter(instance_uuid=instance_id, finished_at__isnull=True)
    rows.update(finished_at=Now(), result="error", message=message)


def action_take_up(*, instance_id: uuid.UUID, action: str, project_id: uuid.UUID, work: Work) -> None:
    """New work for a verb: its open action goes on with it; without one, the control plane itself begins one."""
    rows = InstanceAction.objects.filter(instance_uuid=instance_id, action=action, finished_at__isnull=True)
    if not rows.update(work_id=work.pk, attempt=F("attempt") + 1):
        action_open(instance_id=instance_id, action=action, user_id=None, project_id=project_id, work=work)


def step_open(*, instance_id: uuid.UUID, name: str, attempt: int, host: str) -> None:
    """Begin a step of the newest open action. The same step of the same attempt is one row."""
    action = InstanceAction.objects.filter(instance_uuid=instance_id, finished_at__isnull=True).first()
    if action is not None:
        InstanceActionEvent.objects.update_or_create(
            action=action,
            name=name,
            attempt=attempt,
            host=host,
            defaults={"result": "", "finished_at": None, "details": ""},
            create_defaults={"started_at": Now()},
        )


def step_close(*, instance_id: uuid.UUID, name: str, attempt: int, error: str = "") -> None:
    """End a step."""
    rows = InstanceActionEvent.objects.filter(
        action__instance_uuid=instance_id, name=name, attempt=attempt, finished_at__isnull=True
    )
    rows.update(finished_at=Now(), result="error" if error else "success", details=error[:4000])


def step_failed(*, instance_id: uuid.UUID, name: str, error: str) -> None:
    """A step of the newest action, begun with it, that has ended in this error already."""
    action = InstanceAction.objects.filter(instance_uuid=instance_id).order_by("-started_at", "-id").first()
    if action is not None:
        InstanceActionEvent.objects.create(
            action=action,
            name=name,
            started_at=action.started_at,
            finished_at=Now(),
            result="error",
            details=error[:4000],
        )


def step_hung(*, instance_id: uuid.UUID, name: str, attempt: int, host: str, since: datetime, error: str) -> None:
    """A step of the newest action stood still since then and is ended. The same step of the same attempt is one row."""
    action = InstanceAction.objects.filter(instance_uuid=instance_id).order_by("-started_at", "-id").first()
    if action is not None:
        InstanceActionEvent.objects.update_or_create(
            action=action,
            name=name,
            attempt=attempt,
            host=host,
            defaults={"finished_at": Now(), "result": "error", "details": error[:4000]},
            create_defaults={
                "started_at": since,
                "finished_at": Now(),
                "result": "error",
                "details": error[:4000],
            },
        )


def steps_cut(*, instance_id: uuid.UUID, error: str) -> None:
    """End all open steps: the work they belong to ended without them."""
    rows = InstanceActionEvent.objects.filter(action__instance_uuid=instance_id, finished_at__isnull=True)
    rows.update(finished_at=Now(), result="error", details=error[:4000])


def attempt_open(*, instance_id: uuid.UUID, number: int, host: str) -> AttemptRecord:
    """A host is about to be tried (unsaved row: callers write them in bulk)."""
    return AttemptRecord(instance_uuid=instance_id, number=number, host=host, started_at=Now())


def attempt_close(*, instance_id: uuid.UUID, outcome: str, reason: str = "") -> None:
    """How the open attempt ended."""
    rows = AttemptRecord.objects.filter(instance_uuid=instance_id, finished_at__isnull=True)
    rows.update(finished_at=Now(), outcome=outcome, reason=reason[:4000])


def fault_record(
    *, instance_id: uuid.UUID, message: str, step: str = "", host: str = "", details: str = "", code: int = 500
) -> None:
    """Why it failed: `message` for its owner, `details` for operators."""
    InstanceFault.objects.create(
        instance_uuid=instance_id,
        code=code,
        message=message[:1000],
        details=details[:20000],
        step=step[:60],
        host=host,
    )
