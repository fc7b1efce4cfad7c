"""API tokens: issued once for name and password, stored as digests, revoked or left to expire."""

import logging
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import OperationalError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from controlplane.audit_log.recording.actor_scope import actor_known
from controlplane.audit_log.recording.audited import audited
from controlplane.audit_log.recording.record import AuditChange, change_record, facts_of, target_of
from controlplane.identity.conf import identity_options
from controlplane.identity.domain import Caller
from controlplane.identity.domain.token import new_token, token_digest
from controlplane.identity.models import Token
from controlplane.identity.selectors import caller_for_user
from controlplane.identity.selectors.own_projects import own_project_called
from controlplane.identity.services.logins import credentials_check
from controlplane.identity.services.second_factors import second_factor_ask
from controlplane.infra.db import now_plus
from controlplane.kernel.clock import utc_now
from controlplane.kernel.errors import Forbidden, Invalid
from controlplane.kernel.texts import phrase as _

log = logging.getLogger(__name__)
ISSUE = "token.issue"
USE_NOTED_EACH_S = 300
EXPIRED_RETENTION_S = 86400


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """The token itself: it is shown once and stored nowhere."""

    token: str
    expires_at: datetime
    caller: Caller


@audited(ISSUE, by="username", by_itself=True)
def token_issue(
    *,
    username: str,
    password: str,
    project: str | None = None,
    address: str = "",
    lifetime_s: float | None = None,
    code: str | None = None,
) -> IssuedToken:
    """A token for one project: the named one (name or id), else the first by name where the user has a role.

    It lives for `lifetime_s`, never longer than the installation allows. `code` is of the second factor of a user who
    has one, or has to have one; the token itself needs none. Raises LoginRefused for wrong credentials, and
    SecondFactorNeeded; LoginThrottled after too many of them, Invalid for a project without a role, Forbidden for no
    role at all.
    """
    user = credentials_check(username=username, password=password, address=address)
    second_factor_ask(user=user, code=code)
    wanted = None
    if project:
        wanted = own_project_called(user=user, text=project)
        if wanted is None:
            raise Invalid(_("You have no role in a project of this name."), field="project")
    caller = caller_for_user(user=user, project_id=wanted.pk if wanted else None)
    actor_known(caller)
    return _issued(caller, lifetime_s)


@audited(ISSUE, by_itself=True)
def token_issue_own(*, caller: Caller, lifetime_s: float | None = None) -> IssuedToken:
    """A token for whoever is logged in to the pages, in the project that they work in."""
    return _issued(caller, lifetime_s)


def _issued(caller: Caller, lifetime_s: float | None) -> IssuedToken:
    text = new_token()
    longest = identity_options().token_lifetime_s
    lifetime = longest if lifetime_s is None else min(lifetime_s, longest)
    with transaction.atomic():
        row = _token_store(text, caller, lifetime)
        change_record(AuditChange(ISSUE, target_of("token", row), after=facts_of(row)), of=ISSUE)
    return IssuedToken(text, row.expires_at, caller)


def _token_store(text: str, caller: Caller, lifetime_s: float) -> Token:
    row = Token.objects.create(
        digest=token_digest(text),
        user_id=caller.user_id,
        project_id=caller.project_id,
        expires_at=now_plus(lifetime_s),
        last_used_at=Now(),
    )
    row.refresh_from_db(fields=["expires_at"])
    return row


@audited("token.revoke", Token, by="token_id")
def token_revoke(
    *, token_id: uuid.UUID, user_id: uuid.UUID | None = None, by_token_id: uuid.UUID | None = None
) -> bool:
    """End a token now; True when it was alive. With `user_id`, only a token of that user.

    `by_token_id`: the token that the call came with. One that was got by an application credential ends of its owner's
    tokens only those of the same credential: a program does not log people out. Raises Forbidden.
    """
    rows = Token.objects.filter(pk=token_id, revoked=False)
    if user_id is not None:
        rows = rows.filter(user_id=user_id)
    if by_token_id is not None and by_token_id != token_id:
        by = Token.objects.filter(pk=by_token_id, application_credential__isnull=False).first()
        others = Token.objects.none() if by is None else rows.filter(user_id=by.user_id)
        if by is not None and others.exclude(application_credential_id=by.application_credential_id).exists():
            raise Forbidden(_("A token of an application credential ends no other tokens of its user."))
    return bool(rows.update(revoked=True))


def token_used(*, token_id: uuid.UUID, last_used_at: datetime | None) -> None:
    """Note the use of a token where the last note is old. Asked of this machine's clock first: most write nothing."""
    if last_used_at is None or last_used_at < utc_now() - timedelta(seconds=USE_NOTED_EACH_S):
        token_use_note(token_id=token_id)


def token_use_note(*, token_id: uuid.UUID) -> bool:
    """Write down that a token is in use, at most once in five minutes; True when it was written.

    A database that is too busy for it loses the note, never the call.
    """
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now_plus(-USE_NOTED_EACH_S))
    try:
        with transaction.atomic():
            return bool(Token.objects.filter(stale, pk=token_id).update(last_used_at=Now()))
    except OperationalError as error:
        log.info("the use of token %s was not noted: %s", token_id, error)
        return False


def tokens_purge_expired() -> int:
    """Remove what expired a day ago or longer, revoked or not. Returns how many."""
    return Token.objects.filter(expires_at__lt=now_plus(-EXPIRED_RETENTION_S)).delete()[0]
