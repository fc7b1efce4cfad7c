"""Pages of consoles: who types and who looks, what a session's page says, and the list of sessions."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from computeagent.protocol.consoles import ConsoleKind
from controlplane.identity.domain import Caller
from controlplane.identity.models import User
from servers.consoles.services import console_session_create, console_session_open
from servers.models import ConsoleSession, Instance
from tests.worlds.cloud import People, active

AsPerson = Callable[[Caller], Client]


@pytest.fixture
def instance(people: People) -> Instance:
    return active(people.member)


def opened(instance: Instance, caller: Caller) -> ConsoleSession:
    access = console_session_create(caller=caller, instance_id=instance.pk, kind=ConsoleKind.VNC)
    console_session_open(token=access.token, holder="unix:here", client_address="192.0.2.7")
    return access.session


@pytest.mark.parametrize("kind", ["vnc", "serial"])
def test_member_types(kind: str, instance: Instance, people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    page = client.get(f"/instances/{instance.pk}/console/{kind}/")
    assert f"kilonova/console-{kind}" in page.text
    assert 'data-view=""' in page.text
    assert "style-src 'self' 'unsafe-inline'" in page["Content-Security-Policy"]
    assert "script-src" not in page["Content-Security-Policy"]
    alone = client.get(f"/instances/{instance.pk}/console/{kind}/?window=1")
    assert "<nav" not in alone.text
    answer = client.post(f"/instances/{instance.pk}/console/sessions/", {"kind": kind})
    assert set(answer.json()) == {"id", "token", "expires_at"}
    assert "no-store" in answer["Cache-Control"]


def test_the_tabs_lead_from_each_of_the_three_to_the_others(
    instance: Instance, people: People, as_person: AsPerson
) -> None:
    console, client = f"/instances/{instance.pk}/console/", as_person(people.member)
    for tab in ("vnc/", "serial/", ""):
        page = client.get(f"{console}{tab}").text
        assert f'<a href="{console}{tab}" aria-current="page">' in page
        assert all(f'<a href="{console}{other}"' in page for other in ("vnc/", "serial/", ""))


def test_reader_looks_at_the_screen_and_is_told_why_no_more(
    instance: Instance, people: People, as_person: AsPerson
) -> None:
    client = as_person(people.reader)
    assert 'data-view="1"' in client.get(f"/instances/{instance.pk}/console/vnc/").text
    assert "typing needs the role member" in client.get(f"/instances/{instance.pk}/console/serial/").text
    path = f"/instances/{instance.pk}/console/sessions/"
    assert client.post(path, {"kind": "vnc"}).status_code == 403
    assert client.post(path, {"kind": "vnc", "view": "1"}).status_code == 200
    assert client.post(path, {"kind": "rdp"}).json()["error"]["field"] == "kind"


def test_script_of_a_page_is_refused_in_the_pages_language(instance: Instance, people: People) -> None:
    Instance.objects.update(power_state="shutdown")
    path = f"/instances/{instance.pk}/console/sessions/"
    for language, said in (
        ("en", "The guest is off, so it has no console."),
        ("zh-CN", "虚拟机已关机，因此没有控制台。"),  # noqa: RUF001 - as Chinese has it
    ):
        client = Client(headers={"accept-language": language})
        client.force_login(User.objects.get(username=people.member.username))
        answer = client.post(path, {"kind": "vnc"})
        assert (answer.status_code, answer.json()["error"]["message"]) == (409, said)


def test_stranger_finds_nothing(instance: Instance, people: People, as_person: AsPerson) -> None:
    client = as_person(people.stranger)
    assert client.get(f"/instances/{instance.pk}/console/vnc/").status_code == 404
    assert client.post(f"/instances/{instance.pk}/console/sessions/", {"kind": "vnc"}).status_code == 404


def test_guest_that_is_off_says_so(instance: Instance, people: People, as_person: AsPerson) -> None:
    Instance.objects.update(power_state="shutdown")
    page = as_person(people.member).get(f"/instances/{instance.pk}/console/serial/")
    assert "The guest is off, so it has no console." in page.text
    assert "console-root" not in page.text


def test_session_page_without_a_login_keeps_its_token_to_itself() -> None:
    page = Client().get("/consoles/vnc/")
    assert page.status_code == 200
    assert '<meta name="referrer" content="no-referrer">' in page.text


def test_address_that_only_looks_offers_nothing_to_type_with() -> None:
    page = Client().get("/consoles/vnc/?view=1")
    assert 'data-view="1"' in page.text
    assert "Ctrl-Alt-Del" not in page.text
    assert 'data-view=""' in Client().get("/consoles/vnc/").text


def test_sessions_are_listed_and_ended_by_who_may(instance: Instance, people: People, as_person: AsPerson) -> None:
    assert "Nobody has looked yet" in as_person(people.member).get("/consoles/").text
    session = opened(instance, people.member)
    path = f"/consoles/{session.pk}/end/"
    shown = as_person(people.reader).get("/consoles/").text
    assert "192.0.2.7" in shown
    assert path not in shown
    assert as_person(people.reader).post(path).status_code == 403
    assert as_person(people.stranger).post(path).status_code == 404
    assert re.search(r"Nobody has looked yet", as_person(people.stranger).get("/consoles/").text)
    assert path in as_person(people.admin).get("/consoles/").text
    as_person(people.member).post(path)
    ended = as_person(people.member).get("/consoles/").text
    assert f"Ended by {people.member.username}." in ended
    assert path not in ended
