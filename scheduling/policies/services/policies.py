"""The life of a policy's versions: draft, validated, active, retired. What decided is never changed again.

Whatever changes which version is active or shadow locks all versions, in the order of their ids: they are few, and so
two who activate at once go one after the other.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any
from uuid import UUID

from django.db import IntegrityError
from django.db.models import F, Max
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Conflict, Invalid, InvalidFields, NotFound
from controlplane.kernel.texts import phrase as _
from scheduling.domain.policy import policy_from_dict, policy_to_dict
from scheduling.models import SchedulerPolicy
from scheduling.policies.check import PolicyProblem, policy_problems
from scheduling.policies.domain.states import PolicyState, may_become
from scheduling.policies.selectors.policies import body_completed, policy_get

MAX_BODY_BYTES = 64 * 1024


class Anyone(Enum):
    """Stands for "whichever version is active now"."""

    ANYONE = "anyone"


ANYONE = Anyone.ANYONE


@dataclass(frozen=True, slots=True)
class PolicyValidation:
    """What validation found. `valid` means that there is no problem, and `state` is where the version is now."""

    valid: bool
    state: PolicyState
    problems: tuple[PolicyProblem, ...]


@audited("policy.create", SchedulerPolicy)
def policy_create(
    *, body: Mapping[str, Any], name: str = "default", comment: str = "", author: str = "", activate: bool = False
) -> SchedulerPolicy:
    """The next version under `name`, as a draft; with `activate` it must be without problems and counts at once.

    Raises Invalid naming the field; with `activate` InvalidFields naming every field that is wrong.
    """
    shaped = _shaped(body)
    _check_words(name=name, comment=comment)
    return in_transaction(partial(_create, shaped, name, comment, author, activate))


@audited("policy.update", SchedulerPolicy, by="policy_id")
def policy_update(*, policy_id: UUID, revision: int | None = None, **changes: Any) -> SchedulerPolicy:
    """Change `body` or `comment` of a version that decided nothing; another body makes it a draft again.

    With `revision` only if nobody changed it since. Raises NotFound, Invalid, Conflict.
    """
    _check_words(name="x", comment=changes.get("comment", ""))
    fields = {name: changes[name] for name in ("comment",) if name in changes}
    if "body" in changes:
        fields |= {"body": _shaped(changes["body"]), "state": PolicyState.DRAFT}

    def work() -> SchedulerPolicy:
        _change_mutable(policy_id, revision, **fields)
        return policy_get(policy_id=policy_id)

    return in_transaction(work)


@audited("policy.delete", SchedulerPolicy, by="policy_id")
def policy_delete(*, policy_id: UUID) -> None:
    """Only what never decided and never ran as shadow. Raises NotFound, Conflict."""

    def work() -> None:
        deleted, _ = SchedulerPolicy.objects.filter(id=policy_id, immutable=False).delete()
        if not deleted:
            raise _immutable(policy_get(policy_id=policy_id))

    in_transaction(work)


@audited("policy.validate", SchedulerPolicy, by="policy_id")
def policy_validate(*, policy_id: UUID) -> PolicyValidation:
    """Look for problems: plug-ins that do not load, settings that do not exist or are out of range.

    A draft without any becomes validated, and what its body leaves out is written into it. A validated version with
    problems becomes a draft. Others only get their answer. Raises NotFound.
    """
    return in_transaction(partial(_validate, policy_id))


@audited("policy.activate", SchedulerPolicy, by="policy_id")
def policy_activate(*, policy_id: UUID, replaces: UUID | Anyone | None = ANYONE) -> None:
    """From the next decision on this version counts; it must be validated, or retired (a roll back).

    With `replaces` only if that version (None: no version) is the active one. Raises NotFound, Conflict, and
    InvalidFields when a plug-in it names has gone.
    """
    _exclusively(partial(_activate, policy_id, replaces))


@audited("policy.rollback", SchedulerPolicy)
def policy_rollback(*, policy_id: UUID | None = None, replaces: UUID | Anyone | None = ANYONE) -> SchedulerPolicy:
    """Back to an earlier version: the given one, or the one that was retired last. Raises as `policy_activate`."""
    return _exclusively(partial(_roll_back, policy_id, replaces))


@audited("policy.retire", SchedulerPolicy, by="policy_id")
def policy_retire(*, policy_id: UUID) -> None:
    """A version is not wanted any more; if it is the active one, the defaults count. Raises NotFound, Conflict."""

    def work() -> None:
        row = _find(_locked(), policy_id)
        if not may_become(_state(row), PolicyState.RETIRED):
            raise Conflict(
                _(
                    "{label} is {state}: only a validated or active version can be retired.",
                    label=row.label,
                    state=row.state,
                )
            )
        _retire(row)

    in_transaction(work)


@audited("policy.deactivate")
def policy_deactivate() -> None:
    """No version is active: the defaults count again."""

    def work() -> None:
        for row in _locked().values():
            if row.active:
                _retire(row)

    in_transaction(work)


@audited("policy.shadow_start", SchedulerPolicy, by="policy_id")
def policy_shadow_start(*, policy_id: UUID, share: float) -> SchedulerPolicy:
    """Let a validated or retired version run beside the active one on a share (0 to 1) of the requests.

    It takes the place of another shadow. Raises NotFound, Conflict, Invalid.
    """
    if not 0.0 <= share <= 1.0:
        raise Invalid(_("A share is a number from 0 to 1."), field="share")
    return _exclusively(partial(_shadow_start, policy_id, float(share)))


@audited("policy.shadow_end", SchedulerPolicy, by="policy_id")
def policy_shadow_end(*, policy_id: UUID) -> None:
    """The version is no shadow any more; what it found stays. Raises NotFound, Conflict if it was none."""

    def work() -> None:
        row = _find(_locked(), policy_id)
        if not row.shadow:
            raise Conflict(_("{label} is not the shadow.", label=row.label))
        _set(row, shadow=False, shadow_share=0.0)

    in_transaction(work)


def _create(body: dict[str, Any], name: str, comment: str, author: str, activate: bool) -> SchedulerPolicy:
    newest = SchedulerPolicy.objects.filter(name=name).aggregate(newest=Max("version"))["newest"] or 0
    row = SchedulerPolicy(name=name, version=newest + 1, body=body, comment=comment, author=author[:150])
    try:
        row.save(force_insert=True)
    except IntegrityError as error:
        raise Conflict(_("Somebody made a version of this name at the same moment."), field="name") from error
    if activate:
        _refuse_problems(_validate(row.id).problems)
        _activate(row.id, ANYONE)
        row.refresh_from_db()
    return row


def _shaped(body: object) -> dict[str, Any]:
    """What a row may hold: a JSON object of bounded size, its weighers in a form that keeps their order."""
    if not isinstance(body, Mapping) or not all(isinstance(name, str) for name in body):
        raise Invalid(_("A policy's body maps settings to values."), field="body")
    shaped = dict(body)
    weighers = shaped.get("weighers")
    if isinstance(weighers, Mapping):
        shaped["weighers"] = [{"name": name, "multiplier": number} for name, number in weighers.items()]
    try:
        size = len(json.dumps(shaped, allow_nan=False))
    except ValueError as error:
        raise Invalid(_("A policy's body is plain JSON, without NaN or infinity."), field="body") from error
    if size > MAX_BODY_BYTES:
        raise Invalid(
            _(
                "A policy's body has {size} bytes; {max_body_bytes} are allowed.",
                size=size,
                max_body_bytes=MAX_BODY_BYTES,
            ),
            field="body",
        )
    return shaped


def _check_words(*, name: str, comment: str) -> None:
    if not name.strip() or len(name) > 64:
        raise Invalid(_("A policy needs a name of 1 to 64 characters."), field="name")
    if len(comment) > 1000:
        raise Invalid(_("A comment has at most 1000 characters."), field="comment")


def _validate(policy_id: UUID) -> PolicyValidation:
    row = policy_get(policy_id=policy_id)
    body = body_completed(row.body)
    problems = policy_problems(body)
    state = PolicyState.DRAFT if problems else PolicyState.VALIDATED
    if row.immutable or row.state == state:
        return PolicyValidation(not problems, _state(row), problems)
    whole = row.body if problems else _shaped(policy_to_dict(policy_from_dict(body, version=row.label)))
    _change_mutable(policy_id, row.revision, state=state, body=whole)
    return PolicyValidation(not problems, state, problems)


def _change_mutable(policy_id: UUID, revision: int | None, **fields: Any) -> None:
    """Change a version by compare-and-set: only if it is not immutable and, where one is given, at that revision."""
    rows = SchedulerPolicy.objects.filter(id=policy_id, immutable=False)
    if revision is not None:
        rows = rows.filter(revision=revision)
    if rows.update(**fields, revision=F("revision") + 1, updated_at=Now()):
        return
    row = policy_get(policy_id=policy_id)
    if row.immutable:
        raise _immutable(row)
    raise Conflict(
        _("{label} was changed meanwhile: it is at revision {revision}.", label=row.label, revision=row.revision),
        revision=row.revision,
    )


def _immutable(row: SchedulerPolicy) -> Conflict:
    return Conflict(
        _(
            "{label} is {state} and has decided or run as shadow: it stays what it was.",
            label=row.label,
            state=row.state,
        )
    )


def _exclusively(work: Callable[[], SchedulerPolicy]) -> SchedulerPolicy:
    try:
        return in_transaction(work)
    except IntegrityError as error:
        raise Conflict(_("Another version was activated or made shadow at the same moment.")) from error


def _locked() -> dict[UUID, SchedulerPolicy]:
    """Every version, locked until the end of the transaction, and as it is after the wait for the lock."""
    return {row.id: row for row in SchedulerPolicy.objects.select_for_update().order_by("id")}


def _find(rows: Mapping[UUID, SchedulerPolicy], policy_id: UUID) -> SchedulerPolicy:
    if policy_id not in rows:
        raise NotFound(_("There is no policy {policy_id}.", policy_id=policy_id))
    return rows[policy_id]


def _activate(policy_id: UUID, replaces: UUID | Anyone | None) -> SchedulerPolicy:
    """Old off before new on: the constraint allows one active row at every moment."""
    rows = _locked()
    row = _find(rows, policy_id)
    active = next((each for each in rows.values() if each.active), None)
    if replaces is not ANYONE and replaces != (active.id if active else None):
        label = active.label if active else None
        raise Conflict(_("The active version is {label} now.", label=label or "none"), active=label)
    if row.active:
        return row
    if not may_become(_state(row), PolicyState.ACTIVE):
        raise Conflict(_("{label} is a draft: validate it first.", label=row.label))
    _refuse_problems(policy_problems(body_completed(row.body)))
    if active is not None:
        _retire(active)
    return _set(row, state=PolicyState.ACTIVE, immutable=True, shadow=False, shadow_share=0.0, activated_at=Now())


def _roll_back(policy_id: UUID | None, replaces: UUID | Anyone | None) -> SchedulerPolicy:
    rows = _locked()
    if policy_id is not None:
        row = _find(rows, policy_id)
        if row.state != PolicyState.RETIRED:
            raise Conflict(
                _("{label} is {state}: only to a retired version can be rolled back.", label=row.label, state=row.state)
            )
        return _activate(policy_id, replaces)
    retired = [row for row in rows.values() if row.state == PolicyState.RETIRED and row.retired_at and row.activated_at]
    if not retired:
        raise Conflict(_("No version was active before."))
    return _activate(max(retired, key=lambda row: (row.retired_at, row.version)).id, replaces)


def _shadow_start(policy_id: UUID, share: float) -> SchedulerPolicy:
    rows = _locked()
    row = _find(rows, policy_id)
    if row.state not in (PolicyState.VALIDATED, PolicyState.RETIRED):
        raise Conflict(
            _("{label} is {state}: a shadow is a validated or a retired version.", label=row.label, state=row.state)
        )
    for each in rows.values():
        if each.shadow and each.id != policy_id:
            _set(each, shadow=False, shadow_share=0.0)
    return _set(row, shadow=True, shadow_share=share, immutable=True)


def _retire(row: SchedulerPolicy) -> None:
    _set(row, state=PolicyState.RETIRED, immutable=True, retired_at=Now())


def _set(row: SchedulerPolicy, **fields: Any) -> SchedulerPolicy:
    SchedulerPolicy.objects.filter(id=row.id).update(**fields, updated_at=Now())
    row.refresh_from_db()
    return row


def _refuse_problems(problems: tuple[PolicyProblem, ...]) -> None:
    if problems:
        fields: dict[str, list[str]] = {}
        for each in problems:
            fields.setdefault(each.field, []).append(each.message)
        raise InvalidFields(fields)


def _state(row: SchedulerPolicy) -> PolicyState:
    return PolicyState(row.state)
