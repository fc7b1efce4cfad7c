"""The secrets of agents: enrolment by a one-time token, rotation, revocation.

The agent makes its secret itself and tells only its SHA-256 until it uses it, so a lost answer loses nothing: the agent
asks for the same trade again, and it has the same effect.
"""

import logging
import re
import shlex
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now

from computeagent.protocol.names import require_host_name
from computeagent.protocol.refusals import SecretTaken
from computeagent.protocol.wire import PROTOCOL_VERSION
from controlplane.audit_log.recording.actor_scope import AGENT, CONTROL_PLANE, SYSTEM, Actor
from controlplane.audit_log.recording.audited import audited
from controlplane.audit_log.recording.record import AuditChange, AuditTarget, change_record
from controlplane.identity.domain import LoginThrottled
from controlplane.identity.domain.throttle import Bucket
from controlplane.identity.domain.token import new_token, token_digest
from controlplane.identity.services.login_brakes import tries_count, tries_forget_old, tries_take_back
from controlplane.infra.db import now_plus, now_sql
from controlplane.infra.prepared import PreparedStatement
from controlplane.kernel.errors import Forbidden, Invalid, NotFound, Throttled
from controlplane.work.hints import changed, host_topic
from scheduling.fleet.services.hosts import host_name_check
from scheduling.fleet.services.lockout import service_let_in, service_lock_out
from servers.agent_api.host_ownership import (
    host_is_removed,
    host_ownership_admit,
    host_ownership_remove,
    host_ownership_revoke,
    host_removals_prune,
)
from servers.hosts.domain.host_names import require_free_host_name
from servers.instances.services.build_elsewhere import LOCKED_OUT, untaken_builds_leave
from servers.models import AgentCredential, AgentEnrolment

log = logging.getLogger(__name__)

TOKEN_LIFETIME_S = 3600.0
ENROLMENT_RETENTION_S = 365 * 86400.0
"""How long the record of a token is kept after it expired: who enrolled what, a year back."""
PREVIOUS_SECRET_S = 3600.0
"""How long the secret before the last rotation holds: for an agent that did not hear the answer."""
_HOST_OF_DIGEST = """
SELECT host FROM servers_agentcredential
 WHERE revoked_at IS NULL AND (digest = %s OR (previous_digest = %s AND previous_until > {now}))
"""
# Every message of an agent asks it.
_HOST = PreparedStatement("credential_host", lambda: _HOST_OF_DIGEST.format(now=now_sql()), types=["text", "text"])
VERSION_MAX = 20
REFUSAL_NOTED_S = 60.0
REVOKED = "The secret of its agent was revoked."
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Enrolment:
    """A token, shown once and stored nowhere."""

    host: str
    token: str
    expires_at: datetime


@audited("host.enrolment_create", by="host")
def enrolment_create(*, host: str, user_id: UUID | None = None) -> Enrolment:
    """A token by which the agent of this host, and no other, may enrol within an hour. Raises Invalid, Conflict."""
    require_host_name(host)
    require_free_host_name(host)
    host_name_check(host=host)
    text = new_token()
    with transaction.atomic():
        row = AgentEnrolment.objects.create(
            host=host, digest=token_digest(text), created_by_id=user_id, expires_at=now_plus(TOKEN_LIFETIME_S)
        )
        host_ownership_admit(host=host)
    row.refresh_from_db(fields=["expires_at"])
    log.info("user %s made an enrolment token for the agent of host %s", user_id or "-", host)
    return Enrolment(host, text, row.expires_at)


def enrolment_command(enrolment: Enrolment, url: str) -> str:
    """What a person runs on the hypervisor, in one line."""
    words = ("kilonova-agent", "--control-plane", url, "--host", enrolment.host)
    return shlex.join([*words, "--enrol-token", enrolment.token])


def enrolment_redeem(*, host: str, token: str, secret_digest: str, address: str = "") -> None:
    """Trade a token for a secret. Raises Invalid for what can be neither, Forbidden for a token that is unknown, used,
    expired or of another host, and Throttled after many that are unknown from one address.
    """
    require_host_name(host)
    _require_digest(secret_digest)
    _tries_brake(token, host, address)
    with transaction.atomic():
        # Its own trade may be asked for again while the token lives, which a revocation ends.
        free = Q(used_at__isnull=True) | Q(secret_digest=secret_digest)
        rows = AgentEnrolment.objects.filter(free, digest=token_digest(token), host=host, expires_at__gt=Now())
        if not rows.update(used_at=Now(), secret_digest=secret_digest):
            log.warning(
                "an enrolment for host %s from %s was refused: its token is unknown, used, expired or another's",
                host,
                address or "an unknown address",
            )
            raise Forbidden(
                f"This token does not enrol host {host}: it is unknown, used, older than an hour, or another host's."
            )
        credential_set(host=host, secret_digest=secret_digest)
        _agent_did("host.enrol", host)
    log.info("the agent of host %s enrolled from %s", host, address or "an unknown address")


def _tries_brake(token: str, host: str, address: str) -> None:
    """A token that was made here is no guess, be it used or another host's. Raises Throttled."""
    tries = {Bucket.ENROLMENT: ("", address[:64])}
    tries_forget_old()
    try:
        tries_count(tries)
    except LoginThrottled as error:
        log.warning("an enrolment for host %s from %s has to wait: %s", host, address, error.message)
        raise Throttled(error.message, wait_s=error.wait_s) from error
    if AgentEnrolment.objects.filter(digest=token_digest(token)).exists():
        tries_take_back(tries)


def own_agent_admit(*, host: str, secret_digest: str) -> None:
    """Let the agent in that runs beside the control plane, whose secret was made there: nobody trades a token for it.

    One that an admin revoked, or whose host was removed, stays out until an admin makes a token for it. Raises
    Forbidden, Invalid, SecretTaken.
    """
    if credential_host(secret_digest) == host:
        return
    with transaction.atomic():
        row = AgentCredential.objects.select_for_update().filter(host=host).first()
        if row is not None and row.revoked_at is not None:
            # A revocation ended all tokens of before.
            made = AgentEnrolment.objects.filter(host=host, used_at__isnull=True, expires_at__gt=Now())
            if not made.update(used_at=Now(), secret_digest=secret_digest):
                raise Forbidden(f"{REVOKED} {_own_words(host)}")
        elif host_is_removed(host=host):
            raise Forbidden(f"It was removed. {_own_words(host)}")
        credential_set(host=host, secret_digest=secret_digest)
        change_record(AuditChange("host.enrol", AuditTarget("host", host, host)), actor=CONTROL_PLANE, door=SYSTEM)


def _own_words(host: str) -> str:
    return (
        f"Host {host} stays out until an admin lets it in again, by Add a hypervisor or manage.py agent_enrol --host "
        f"{host}, and this is started again within the hour."
    )


def enrolments_prune() -> int:
    """Remove the records of tokens that expired long ago, and of hosts removed then. Returns how many tokens."""
    host_removals_prune(older_s=ENROLMENT_RETENTION_S)
    return AgentEnrolment.objects.filter(expires_at__lt=now_plus(-ENROLMENT_RETENTION_S)).delete()[0]


def credential_set(*, host: str, secret_digest: str) -> None:
    """From now on this is the secret of the host's agent; an earlier one holds no more, nor does the token that it was
    traded for, which could else bring it back. Raises Invalid, SecretTaken.
    """
    require_host_name(host)
    _require_digest(secret_digest)
    now = {"digest": secret_digest, "previous_digest": "", "previous_until": None, "revoked_at": None}
    fresh = {"revoked_by_id": None, "enrolled_at": Now(), "rotated_at": None, "refused_version": "", "refused_at": None}
    with transaction.atomic():
        with _digest_is_free():
            AgentCredential.objects.update_or_create(host=host, defaults={**now, **fresh})
        used = AgentEnrolment.objects.filter(host=host, used_at__isnull=False, expires_at__gt=Now())
        used.exclude(secret_digest=secret_digest).update(expires_at=Now())
        host_ownership_admit(host=host)
        service_let_in(host=host)
        changed(host_topic(host))


def credential_rotate(*, host: str, old_digest: str, secret_digest: str) -> None:
    """Replace the secret `old_digest`, which still holds for an hour; by itself, nothing changes. Raises Forbidden when
    it is not the host's, SecretTaken.
    """
    _require_digest(secret_digest)
    mine = AgentCredential.objects.filter(host=host, revoked_at__isnull=True)
    if mine.filter(digest=secret_digest).exists():
        return
    with transaction.atomic():
        with _digest_is_free():
            is_rotated = mine.filter(digest=old_digest).update(
                digest=secret_digest,
                previous_digest=F("digest"),
                previous_until=now_plus(PREVIOUS_SECRET_S),
                rotated_at=Now(),
            )
        if not is_rotated:
            raise Forbidden(f"This is not the secret of the agent of host {host}.")
        changed(host_topic(host))
        _agent_did("host.credential_rotate", host)
    log.info("the agent of host %s has a new secret", host)


@contextmanager
def _digest_is_free() -> Iterator[None]:
    """A digest is one host's, whichever of two writes it first. Raises SecretTaken."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        raise SecretTaken(
            "This secret is another host's already: make another one. Was the disk of a hypervisor copied?",
            field="secret_digest",
        ) from error


def _agent_did(action: str, host: str) -> None:
    """An agent is no person, but who came in by which token is to be found in the audit log."""
    change_record(AuditChange(action, AuditTarget("host", host, host)), actor=Actor(f"agent of {host}"), door=AGENT)


@audited("host.credential_revoke", AgentCredential, by="host", key="host")
def credential_revoke(*, host: str, user_id: UUID | None = None) -> None:
    """The host's secret, and all tokens for it, are worth nothing from now on. Raises NotFound where there is neither.

    What its agent is writing at this moment has no effect either: the host's ownership is taken from it. No new
    instances come, and builds that nobody took yet go elsewhere at once.
    """
    with transaction.atomic():
        tokens = _enrolments_end(host)
        rows = AgentCredential.objects.filter(host=host, revoked_at__isnull=True)
        has_secret = bool(rows.update(revoked_at=Now(), revoked_by_id=user_id, previous_until=None))
        if not has_secret and not tokens:
            raise NotFound(f"Host {host} has no agent's secret and no token that could be revoked.")
        if has_secret:
            host_ownership_revoke(host=host)
            service_lock_out(host=host, reason=REVOKED)
        changed(host_topic(host))
    if has_secret:
        untaken_builds_leave(host=host, reason=LOCKED_OUT)
    what = "the secret of the agent" if has_secret else f"{tokens} tokens for the agent"
    log.warning("user %s revoked %s of host %s", user_id or "-", what, host)


def credential_remove(*, host: str) -> None:
    """As a revocation, of a host that is removed, in the caller's transaction: nothing of its secret is left."""
    host_ownership_remove(host=host)
    _enrolments_end(host)
    AgentCredential.objects.filter(host=host).delete()


def _enrolments_end(host: str) -> int:
    """Used ones too: the trade of one could else be asked for again, and bring the secret back. Returns how many."""
    return AgentEnrolment.objects.filter(host=host, expires_at__gt=Now()).update(expires_at=Now())


def agent_version_refused(*, secret_digest: str, version: str) -> None:
    """Note that the agent with this secret was refused for the protocol that it speaks. At most once a minute, as it
    will ask again and again; nothing for a secret that is nobody's.
    """
    said = version[:VERSION_MAX]
    lately = Q(refused_version=said, refused_at__gt=now_plus(-REFUSAL_NOTED_S))
    rows = AgentCredential.objects.filter(digest=secret_digest, revoked_at__isnull=True)
    if rows.exclude(lately).update(refused_version=said, refused_at=Now()):
        log.warning(
            "the agent of host %s was refused: it speaks version %s", rows.values_list("host", flat=True)[0], said
        )


def agent_version_accepted(*, host: str) -> None:
    """The agent of this host fits. One UPDATE, which writes only where it did not before."""
    AgentCredential.objects.filter(host=host, refused_at__isnull=False).update(refused_version="", refused_at=None)


def agent_refusals(hosts: Collection[str]) -> dict[str, str]:
    """Of these hosts, those whose agent is locked out, and why, for people. One query."""
    rows = AgentCredential.objects.filter(host__in=list(hosts))
    return {row.host: words for row in rows if (words := refusal_words(row))}


def refusal_words(credential: AgentCredential) -> str:
    """Why the agent with this secret is locked out; empty when it is not."""
    if credential.revoked_at is not None:
        return f"{REVOKED} The host may be enrolled again."
    if credential.refused_at is not None:
        return (
            f"Its agent is refused: it speaks version {credential.refused_version} of the agents' protocol, and this "
            f"control plane version {PROTOCOL_VERSION}. They may be one apart. Upgrade whichever is older."
        )
    return ""


def credential_of_host(host: str) -> AgentCredential | None:
    """What is known of the secret of this host's agent; None for one that never enrolled."""
    return AgentCredential.objects.filter(host=host).first()


def enrolment_is_awaited(host: str) -> bool:
    """Whether a token was made since the host's agent enrolled last, and nobody has used it yet. One query."""
    since = AgentCredential.objects.filter(host=OuterRef("host"), enrolled_at__gte=OuterRef("created_at"))
    waiting = AgentEnrolment.objects.filter(host=host, used_at__isnull=True, expires_at__gt=Now())
    return waiting.exclude(Exists(since)).exists()


def credential_host(digest: str) -> str | None:
    """Whose secret has this SHA-256; None for nobody's. One query."""
    rows = _HOST.rows([digest, digest])
    return str(rows[0][0]) if rows else None


def credential_host_before(digest: str) -> str:
    """Whose secret this was until it was revoked or replaced; empty for nobody's. For logs."""
    rows = AgentCredential.objects.filter(Q(digest=digest) | Q(previous_digest=digest)) if digest else None
    return "" if rows is None else rows.values_list("host", flat=True).first() or ""


def enrolment_host(digest: str) -> str:
    """By whose enrolment this secret came, as long as its record is kept; empty for nobody's. It reads all records."""
    return AgentEnrolment.objects.filter(secret_digest=digest).values_list("host", flat=True).first() or ""


def _require_digest(digest: str) -> None:
    if _DIGEST.fullmatch(digest) is None:
        raise Invalid("This is no SHA-256 in hexadecimal digits.", field="secret_digest")
