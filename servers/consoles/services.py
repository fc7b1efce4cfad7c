"""The life of a session: allowed, opened once by its token, connected by the guest's host, ended and swept.

A web process holds the two ends of an open session and says every few seconds that it does (`seen_at`). It asks then,
in the same breath, which of them may go on: a session ends when its user loses the role, an administrator ends it, or
its guest stops or moves. What a killed process held is ended by the sweep.
"""

import hashlib
import secrets
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models.functions import Now

from computeagent.protocol.consoles import GUEST_OFF, ConsoleKind
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.work import HostWakeupKind
from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.models import User
from controlplane.identity.policy import allows, require
from controlplane.identity.selectors import caller_for_user
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, Forbidden, NotFound, Throttled
from controlplane.kernel.texts import phrase as _
from controlplane.work.wakeups import wakeups_send
from controlplane.work.work import compute_queue
from scheduling.fleet.selectors.hosts import host_exists
from servers.conf import server_options
from servers.consoles.places import OpenedConsole
from servers.consoles.selectors import READ_POLICY, WAIT_S, console_session_get
from servers.instances.actions.guards import guard_refusal
from servers.instances.selectors.instances import instance_get
from servers.models import ConsoleSession, Instance
from servers.states import POWERED_ON

WRITE_POLICY = "instances:console:write"
CONSOLES_WAKEUP = HostWakeupKind.CONSOLES.value
"""The code of a wake-up that says: ask which sessions wait for you."""
GUARD = "console"
SERIAL_TAKEN = _("Another console took the serial port.")
UNTOLD = _("The guest's host could not open it. An administrator sees why.")
NOT_THERE = _("This token opens no console: it was used, has expired, or was never given.")


@dataclass(frozen=True, slots=True)
class ConsoleAccess:
    """What opens a session, once, until `expires_at`."""

    session: ConsoleSession
    token: str
    expires_at: datetime


@audited("instance.console_{kind}", Instance, by="instance_id", also=("is_read_only",))
def console_session_create(
    *, caller: Caller, instance_id: uuid.UUID, kind: ConsoleKind, is_read_only: bool = False
) -> ConsoleAccess:
    """Allow a session. Readers of the project may have one that only looks.

    Raises Forbidden, NotFound; Conflict for a guest that has no console now; Throttled for a user with too many.
    """
    require(caller, READ_POLICY if is_read_only else WRITE_POLICY)
    if is_read_only and kind is ConsoleKind.SERIAL:
        raise Conflict(_("A serial console has one reader: the console log shows what others may see."), field="kind")
    instance = instance_get(caller=caller, instance_id=instance_id)
    if refused := console_refusal(instance):
        raise Conflict(refused, vm_state=instance.vm_state, task_state=instance.task_state or None)
    options, token = server_options(), secrets.token_urlsafe(32)
    with transaction.atomic():
        # Under the lock of its user, so that two requests at once are counted one after the other.
        User.objects.select_for_update().only("pk").get(pk=caller.user_id)
        mine = ConsoleSession.objects.filter(user_id=caller.user_id, ended_at__isnull=True)
        if mine.exclude(opened_at=None, expires_at__lt=Now()).count() >= options.console_sessions_per_user:
            raise Throttled(_("You have as many consoles open as one may have here."), wait_s=WAIT_S)
        session = ConsoleSession.objects.create(
            instance_uuid=instance.pk,
            instance_name=instance.name,
            project_id=instance.project_id,
            user_id=caller.user_id,
            caller_project_id=caller.project_id,
            kind=kind.value,
            is_read_only=is_read_only,
            host=instance.host,
            token_digest=_digest(token),
            expires_at=now_plus(options.console_token_s),
        )
    session.refresh_from_db(fields=["expires_at"])
    return ConsoleAccess(session, token, session.expires_at)


def console_refusal(instance: Instance) -> str:
    """Why it has no console now; empty where it has one."""
    states = {"vm_state": instance.vm_state, "task_state": instance.task_state}
    if refused := guard_refusal(GUARD, **states, is_launched=instance.launched_at is not None):
        return refused
    if instance.power_state not in POWERED_ON:
        return GUEST_OFF
    if not host_exists(host=instance.host):
        return _("The instance's host was removed from the cloud.")
    return ""


def console_session_open(*, token: str, holder: str, client_address: str | None) -> OpenedConsole:
    """Whoever has the token opens it, once; its host is woken. Raises Forbidden."""
    digest = _digest(token)
    unused = ConsoleSession.objects.filter(token_digest=digest, opened_at__isnull=True, ended_at__isnull=True)
    opened = unused.filter(expires_at__gt=Now()).update(
        opened_at=Now(), seen_at=Now(), holder=holder, client_address=client_address
    )
    if not opened:
        raise Forbidden(NOT_THERE)
    session = ConsoleSession.objects.get(token_digest=digest)
    if why := console_sessions_over(session_ids=[session.pk]).get(session.pk):
        console_session_ended(session_id=session.pk, because=why)
        raise Forbidden(why)
    console_host_wake(host=session.host)
    return _opened(session)


def _opened(session: ConsoleSession) -> OpenedConsole:
    return OpenedConsole(session.pk, session.host, session.holder, session.is_read_only)


def console_host_wake(*, host: str) -> None:
    """Wake-ups may be lost: whoever waits for the host sends another one now and then."""
    wakeups_send([(compute_queue(host), CONSOLES_WAKEUP, "")])


def console_session_connect(*, host: str, session_id: uuid.UUID) -> OpenedConsole:
    """The host of its guest is there, once. A serial port has one reader: the sessions that read it so far end.

    Raises NotFound for a session that waits for nobody, or for another.
    """
    waiting = ConsoleSession.objects.filter(
        pk=session_id, host=host, opened_at__isnull=False, connected_at__isnull=True, ended_at__isnull=True
    )
    if not waiting.update(connected_at=Now()):
        raise NotFound(_("No such console waits for this host."))
    session = ConsoleSession.objects.get(pk=session_id)
    if session.kind == ConsoleKind.SERIAL:
        _earlier_serial_sessions_end(session)
    return _opened(session)


def _earlier_serial_sessions_end(session: ConsoleSession) -> None:
    """In a statement of its own: of two that connect at once, the later one ends the other, and never both each other
    but within one tick of the database's clock.
    """
    same_port = ConsoleSession.objects.filter(
        instance_uuid=session.instance_uuid, kind=ConsoleKind.SERIAL.value, ended_at__isnull=True
    )
    earlier = same_port.filter(connected_at__lte=session.connected_at).exclude(pk=session.pk)
    earlier.update(ended_at=Now(), ended_because=SERIAL_TAKEN)


def console_failed(*, host: str, session_id: uuid.UUID, message: str, failure_class: FailureClass) -> None:
    """The host could not open it. Of class USER, the message is its user's to read; operators see it always."""
    error = message.replace(chr(0), "")
    because = error if failure_class is FailureClass.USER else UNTOLD
    rows = ConsoleSession.objects.filter(pk=session_id, host=host, ended_at__isnull=True)
    rows.update(ended_at=Now(), ended_because=because[:255], host_error=error[:500])


def console_sessions_over(*, session_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, str]:
    """Which of these have to end, and why. The others are noted as open. A constant number of statements, and two for
    each of their users.
    """
    rows = ConsoleSession.objects.filter(pk__in=session_ids)
    rows.filter(ended_at__isnull=True).update(seen_at=Now())
    found = {row.pk: row for row in rows}
    living = Instance.objects.filter(pk__in={row.instance_uuid for row in found.values()}, deleted_at__isnull=True)
    instances = {row.pk: row for row in living.only("host", "power_state", "project_id", "task_state")}
    allowed = _may_look({(row.user_id, row.caller_project_id) for row in found.values()})
    over = {pk: _("It does not exist any more.") for pk in session_ids if pk not in found}
    for pk, row in found.items():
        instance = instances.get(row.instance_uuid)
        caller = allowed.get((row.user_id, row.caller_project_id))
        if row.ended_at is not None:
            over[pk] = row.ended_because or _("It was ended.")
        elif caller is None or not allows(caller, READ_POLICY if row.is_read_only else WRITE_POLICY):
            over[pk] = _("Its user has no right to it any more.")
        elif instance is None or not (caller.is_admin or caller.own_project_id == instance.project_id):
            over[pk] = _("The instance is gone.")
        elif instance.host != row.host:
            over[pk] = _("The instance is on another host now.")
        elif instance.power_state not in POWERED_ON:
            over[pk] = _("The guest is off.")
    return over


def _may_look(pairs: Collection[tuple[uuid.UUID, uuid.UUID]]) -> dict[tuple[uuid.UUID, uuid.UUID], Caller]:
    """Each user in a project, with the roles of now; left out where there is none."""
    users = User.objects.in_bulk({user for user, _ in pairs})
    found = {}
    for user_id, project_id in pairs:
        user = users.get(user_id)
        if user is None:
            continue
        try:
            found[user_id, project_id] = caller_for_user(user=user, project_id=project_id)
        except Forbidden:
            continue
    return found


def console_session_ended(*, session_id: uuid.UUID, because: str) -> None:
    """It is over. Over already is over."""
    rows = ConsoleSession.objects.filter(pk=session_id, ended_at__isnull=True)
    rows.update(ended_at=Now(), ended_because=because[:255])


@audited("console_session.end", ConsoleSession, by="session_id")
def console_session_end(*, caller: Caller, session_id: uuid.UUID) -> ConsoleSession:
    """End it: its own user may, and an administrator. Its web process cuts it within seconds.

    Raises NotFound, Forbidden.
    """
    session = console_session_get(caller=caller, session_id=session_id)
    if not (caller.is_admin or session.user_id == caller.user_id):
        raise Forbidden(_("Only its own user and administrators may end a console session."))
    console_session_ended(session_id=session.pk, because=_("Ended by {username}.", username=caller.username))
    session.refresh_from_db()
    return session


def console_sessions_sweep() -> int:
    """End what no web process holds any more, remove tokens that were never used, and forget old sessions."""
    open_rows = ConsoleSession.objects.filter(ended_at__isnull=True)
    lost = open_rows.filter(seen_at__lt=now_plus(-server_options().console_lost_s)).update(
        ended_at=Now(), ended_because=_("The web process that held it is gone.")
    )
    unused = open_rows.filter(opened_at__isnull=True, expires_at__lt=Now()).delete()[0]
    retention_s = server_options().console_session_retention_days * 86400
    old = ConsoleSession.objects.filter(ended_at__lt=now_plus(-retention_s)).delete()[0]
    return lost + unused + old


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
