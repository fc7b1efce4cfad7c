"""Every verb on work, from every state, does only what the table of transitions allows."""

import uuid
from collections.abc import Callable
from contextlib import suppress

import pytest

from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Fenced
from controlplane.work.models import Work, WorkState
from controlplane.work.reconcile import end_overdue
from controlplane.work.work import (
    NewWork,
    WorkLease,
    work_cancel,
    work_create,
    work_finish,
    work_give_back,
    work_release,
    work_take,
)
from servers.instances.domain.transitions import WORK_TRANSITIONS

pytestmark = pytest.mark.django_db(transaction=True)
Verb = Callable[[Work, WorkLease], object]


def pass_deadline(work: Work, _lease: WorkLease) -> None:
    Work.objects.filter(pk=work.pk).update(deadline_at=now_plus(-1.0))
    end_overdue()


VERBS: dict[str, tuple[Verb, str]] = {
    "take": (lambda work, _lease: work_take(work_id=work.pk, owner="me"), "running"),
    "finish": (lambda _work, lease: work_finish(lease=lease), "done"),
    "fail": (lambda _work, lease: work_finish(lease=lease, state=WorkState.FAILED), "failed"),
    "release": (lambda _work, lease: work_release(lease=lease, error="later"), "waiting"),
    "give back": (lambda _work, lease: work_give_back(lease=lease, reason="it ends"), "waiting"),
    "cancel": (lambda work, _lease: work_cancel(subject=work.subject), "cancelled"),
    "pass the deadline": (pass_deadline, "failed"),
}


def work_in(state: str) -> tuple[Work, WorkLease]:
    """Work in this state; with a lease that holds, if it runs."""
    work = work_create(NewWork("compute.h1", "build", uuid.uuid4(), 60.0))
    lease_until = now_plus(60.0) if state == WorkState.RUNNING else None
    Work.objects.filter(pk=work.pk).update(state=state, attempt=1, lease_until=lease_until)
    return work, WorkLease(work.pk, 1, work.kind, work.subject)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("state", WORK_TRANSITIONS)
def test_verb_changes_a_state_only_as_the_table_allows(state: str, verb: str) -> None:
    work, lease = work_in(state)
    act, result = VERBS[verb]
    with suppress(Fenced):
        act(work, lease)
    work.refresh_from_db()
    allowed = result in WORK_TRANSITIONS[state]
    assert work.state == state or (allowed and work.state == result)


@pytest.mark.parametrize(("state", "verb"), [("waiting", "take"), *(("running", verb) for verb in VERBS)])
def test_verb_does_what_the_table_allows(state: str, verb: str) -> None:
    work, lease = work_in(state)
    if (state, verb) == ("running", "take"):
        Work.objects.filter(pk=work.pk).update(lease_until=now_plus(-1.0))
    act, result = VERBS[verb]
    act(work, lease)
    work.refresh_from_db()
    assert work.state == result
