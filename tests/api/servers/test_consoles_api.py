"""Console sessions: who may have one, once, how it ends, and what its addresses answer without a server for them."""

import uuid
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.db.models.functions import Now
from django.test import Client, override_settings

from computeagent.protocol.consoles import CONSOLE_HEADER, GUEST_OFF, ConsoleKind
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.wire import PROTOCOL_VERSION, VERSION_HEADER
from controlplane.identity.models import RoleAssignment
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, Forbidden, NotFound, Throttled
from servers.agent_api import conductor_connect
from servers.consoles.services import (
    console_session_connect,
    console_session_create,
    console_session_end,
    console_session_open,
    console_sessions_over,
    console_sessions_sweep,
)
from servers.models import ConsoleSession, Instance
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def who() -> world.People:
    return world.cloud()


@pytest.fixture
def instance(who: world.People) -> Instance:
    return world.active(who.member)


def created(instance: Instance, caller: object, kind: str = "vnc", **more: bool) -> tuple[ConsoleSession, str]:
    access = console_session_create(
        caller=caller,  # type: ignore[arg-type]
        instance_id=instance.pk,
        kind=ConsoleKind(kind),
        **more,
    )
    return access.session, access.token


def opened(instance: Instance, caller: object, kind: str = "vnc", **more: bool) -> ConsoleSession:
    session, token = created(instance, caller, kind, **more)
    console_session_open(token=token, holder="unix:here", client_address="192.0.2.7")
    session.refresh_from_db()
    return session


def why_over(session: ConsoleSession) -> str:
    return console_sessions_over(session_ids=[session.pk]).get(session.pk, "")


def test_api_gives_an_address_whose_token_is_sent_to_nobody(who: world.People, instance: Instance) -> None:
    client = world.client_of(who.member)
    answer = client.post(f"/api/instances/{instance.pk}/consoles/", {"kind": "serial"})
    assert answer.status_code == 201, answer.content
    body = answer.json()
    page, _, fragment = body["url"].partition("#")
    assert page.endswith("/consoles/serial/")
    assert fragment == f"token={body['token']}"
    assert body["stream"].startswith("ws://")
    assert answer["Cache-Control"] == "no-store"
    row = ConsoleSession.objects.get()
    assert body["token"] not in str(vars(row))
    shown = Client().get("/consoles/serial/")
    assert shown.status_code == 200
    assert body["token"] not in shown.text


@pytest.mark.parametrize(
    ("person", "typing", "looking"),
    [("admin", 201, 201), ("member", 201, 201), ("reader", 403, 201), ("stranger", 404, 404)],
)
def test_members_type_and_readers_look(
    person: str, typing: int, looking: int, who: world.People, instance: Instance
) -> None:
    client = world.client_of(getattr(who, person))
    path = f"/api/instances/{instance.pk}/consoles/"
    assert client.post(path, {"kind": "vnc"}).status_code == typing
    assert client.post(path, {"kind": "vnc", "is_read_only": True}).status_code == looking


def test_without_a_token_there_is_nothing(instance: Instance) -> None:
    assert Client().post(f"/api/instances/{instance.pk}/consoles/", {"kind": "vnc"}).status_code == 401


def test_token_opens_once_and_in_time(who: world.People, instance: Instance) -> None:
    _, token = created(instance, who.member)
    assert console_session_open(token=token, holder="unix:here", client_address=None).host == instance.host
    with pytest.raises(Forbidden):
        console_session_open(token=token, holder="unix:there", client_address=None)
    _, late = created(instance, who.member)
    ConsoleSession.objects.update(expires_at=Now() - timedelta(seconds=1))
    with pytest.raises(Forbidden):
        console_session_open(token=late, holder="unix:here", client_address=None)


def test_guest_that_is_off_and_a_serial_port_for_lookers_have_none(who: world.People, instance: Instance) -> None:
    with pytest.raises(Conflict, match="one reader"):
        created(instance, who.member, "serial", is_read_only=True)
    Instance.objects.update(power_state="shutdown")
    with pytest.raises(Conflict, match="off"):
        created(instance, who.member)


def test_one_user_has_a_bounded_number(who: world.People, instance: Instance) -> None:
    with override_settings(KILONOVA={**django_settings.KILONOVA, "CONSOLE_SESSIONS_PER_USER": 2}):
        opened(instance, who.member)
        opened(instance, who.member)
        with pytest.raises(Throttled):
            created(instance, who.member)
        opened(instance, who.admin)


def test_host_is_asked_for_what_waits_and_connects_once(who: world.People, instance: Instance) -> None:
    created(instance, who.member)
    session = opened(instance, who.member, "serial")
    wanted = conductor_connect().consoles_wanted(host=instance.host)
    assert [(one.session_id, one.instance_uuid, one.kind) for one in wanted] == [
        (str(session.pk), str(instance.pk), ConsoleKind.SERIAL)
    ]
    with pytest.raises(NotFound):
        console_session_connect(host="another", session_id=session.pk)
    assert console_session_connect(host=instance.host, session_id=session.pk).holder == "unix:here"
    with pytest.raises(NotFound):
        console_session_connect(host=instance.host, session_id=session.pk)
    assert conductor_connect().consoles_wanted(host=instance.host) == []


def test_failure_of_the_host_ends_it(who: world.People, instance: Instance) -> None:
    session = opened(instance, who.member)
    conductor_connect().console_failed(host="another", session_id=str(session.pk), message="no")
    assert why_over(session) == ""
    conductor_connect().console_failed(host=instance.host, session_id=str(session.pk), message="no \0/run/socket")
    assert why_over(session) == "The guest's host could not open it. An administrator sees why."
    path = f"/api/consoles/{session.pk}/"
    errors = {name: world.client_of(getattr(who, name)).get(path).json()["host_error"] for name in ("member", "admin")}
    assert errors == {"member": None, "admin": "no /run/socket"}


def test_failure_that_is_the_guests_is_told_to_its_user(who: world.People, instance: Instance) -> None:
    session = opened(instance, who.member)
    conductor_connect().console_failed(
        host=instance.host, session_id=str(session.pk), message=GUEST_OFF, failure_class=FailureClass.USER
    )
    assert why_over(session) == "The guest is off, so it has no console."


def test_later_serial_console_ends_the_earlier_one_and_screens_are_shared(
    who: world.People, instance: Instance
) -> None:
    other = world.active(who.member)
    ports = [opened(one, who.member, "serial") for one in (instance, other, instance)]
    screens = [opened(instance, who.member), opened(instance, who.member)]
    waiting = opened(instance, who.member, "serial")  # its host has not come yet
    for session in (*ports, *screens):
        console_session_connect(host=session.host, session_id=session.pk)
    assert why_over(ports[0]) == "Another console took the serial port."
    assert [why_over(one) for one in (*ports[1:], *screens, waiting)] == [""] * 5
    console_session_connect(host=waiting.host, session_id=waiting.pk)
    assert [why_over(one) for one in (ports[2], waiting)] == ["Another console took the serial port.", ""]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"power_state": "shutdown"}, "The guest is off."),
        ({"host": "h9"}, "on another host"),
        ({"deleted_at": Now()}, "The instance is gone."),
    ],
)
def test_session_ends_with_its_guest(
    change: dict[str, object], why: str, who: world.People, instance: Instance
) -> None:
    session = opened(instance, who.member)
    assert why_over(session) == ""
    Instance.objects.update(**change)
    assert why in why_over(session)


def test_session_ends_with_the_right_to_it(who: world.People, instance: Instance) -> None:
    typing, looking = opened(instance, who.member), opened(instance, who.member, is_read_only=True)
    RoleAssignment.objects.filter(user_id=who.member.user_id).update(role="reader")
    assert why_over(typing) == "Its user has no right to it any more."
    assert why_over(looking) == ""
    RoleAssignment.objects.filter(user_id=who.member.user_id).delete()
    assert why_over(looking) == "Its user has no right to it any more."


def test_sessions_are_listed_by_project_and_ended_by_their_user_or_an_admin(
    who: world.People, instance: Instance
) -> None:
    session = opened(instance, who.member)
    created(instance, who.member)  # was never opened
    listed = {
        name: world.client_of(getattr(who, name)).get("/api/consoles/?is_open=true").json()["count"]
        for name in ("admin", "member", "reader", "stranger")
    }
    assert listed == {"admin": 1, "member": 1, "reader": 1, "stranger": 0}
    path = f"/api/consoles/{session.pk}/"
    assert world.client_of(who.stranger).delete(path).status_code == 404
    assert world.client_of(who.reader).delete(path).status_code == 403
    answer = world.client_of(who.member).delete(path)
    assert answer.json()["ended_because"] == f"Ended by {who.member.username}."
    assert why_over(session) == f"Ended by {who.member.username}."
    other = opened(instance, who.member)
    assert console_session_end(caller=who.admin, session_id=other.pk).ended_at is not None


def test_sweep_ends_what_nobody_holds_and_forgets_the_old(who: world.People, instance: Instance) -> None:
    lost, old, alive = (opened(instance, who.member) for _ in range(3))
    unused, _ = created(instance, who.member)
    ConsoleSession.objects.filter(pk=lost.pk).update(seen_at=now_plus(-61))
    ConsoleSession.objects.filter(pk=unused.pk).update(expires_at=now_plus(-1))
    ConsoleSession.objects.filter(pk=old.pk).update(ended_at=now_plus(-31 * 86400))
    assert console_sessions_sweep() == 3
    assert set(ConsoleSession.objects.values_list("pk", flat=True)) == {lost.pk, alive.pk}
    assert why_over(lost) == "The web process that held it is gone."
    assert why_over(alive) == ""


def test_number_of_queries_does_not_grow_with_the_sessions(
    who: world.People, instance: Instance, django_assert_max_num_queries: object
) -> None:
    sessions = [opened(instance, who.member).pk for _ in range(8)]
    with django_assert_max_num_queries(9):  # type: ignore[operator]
        assert console_sessions_over(session_ids=sessions) == {}


def test_stream_is_for_websockets_of_our_own_pages() -> None:
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade"}
    assert Client().get("/consoles/stream/").status_code == 400
    assert Client(headers={**upgrade, "Origin": "https://evil.example"}).get("/consoles/stream/").status_code == 403
    assert Client(headers={**upgrade, "Origin": "http://testserver"}).get("/consoles/stream/").status_code == 503


def test_agents_address_is_for_agents(who: world.People) -> None:
    headers = {VERSION_HEADER: str(PROTOCOL_VERSION), CONSOLE_HEADER: str(uuid.uuid4()), "Upgrade": "websocket"}
    assert Client(headers=headers).get("/agent/v1/console").json()["error"]["code"] == "secret_refused"
    assert Client(headers={**headers, VERSION_HEADER: "9"}).get("/agent/v1/console").status_code == 409
