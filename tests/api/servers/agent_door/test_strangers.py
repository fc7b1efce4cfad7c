"""Who is nobody's agent is told little, is written down briefly, with address, and has to wait after many tries."""

import json
import logging
from typing import Any

import pytest
from django.test import Client

from computeagent.protocol.wire import PREFIX, PROTOCOL_VERSION, VERSION_HEADER, encode, secret_digest
from servers.agent_api.credentials import credential_revoke, credential_rotate, enrolment_create
from servers.hosts.services.removal import host_remove
from servers.models import AgentCredential
from tests.worlds import agents
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

FEW_HUNDRED = 800
DIGEST = secret_digest("kna_mine")
FREE_TRIES = 10
GUESS = "kn_guess"


def enrol(host: str = "cmp-7", token: str = GUESS, digest: str = DIGEST, address: str = "192.0.2.7") -> Any:
    body = encode({"host": host, "token": token, "secret_digest": digest})
    return ask("enrol", body, address=address)


def ask(verb: str, body: bytes, *, address: str = "192.0.2.7", **headers: str) -> Any:
    sent = {VERSION_HEADER: str(PROTOCOL_VERSION), **headers}
    return Client(REMOTE_ADDR=address).post(PREFIX + verb, body, content_type="application/json", headers=sent)


@pytest.mark.parametrize(
    ("verb", "body", "status"),
    [
        ("enrol", {"host": "x" * 3000, "token": "t", "secret_digest": DIGEST}, 400),
        ("enrol", {"host": "x" * 15_000_000, "token": "t", "secret_digest": DIGEST}, 413),
        ("enrol", {"host": "h", "token": "t" * 3000, "secret_digest": DIGEST}, 400),
        ("enrol", {"host": "h", "token": "t", "secret_digest": "f" * 3000}, 400),
        ("enrol", {"host": 5, "token": "t", "secret_digest": DIGEST}, 400),
        ("enrol", {"h" * 3000: "h"}, 400),
        ("rotate", {"secret_digest": "f" * 15_000_000}, 403),
        ("heartbeat", {"host": "x" * 15_000_000}, 403),
        ("x" * 3000, {}, 403),
    ],
)
def test_what_a_stranger_sends_is_neither_logged_nor_echoed_at_length(
    caplog: pytest.LogCaptureFixture, verb: str, body: dict[str, Any], status: int
) -> None:
    with caplog.at_level(logging.DEBUG, logger="servers"):
        answer = ask(verb, json.dumps(body).encode(), Authorization="Bearer " + "s" * 3000)
    assert answer.status_code == status
    assert len(answer.content) < FEW_HUNDRED
    assert len(caplog.text) < FEW_HUNDRED


def test_version_of_a_stranger_is_not_echoed_at_length() -> None:
    answer = ask("heartbeat", b"{}", **{VERSION_HEADER: "9" * 5000})
    assert (answer.status_code, len(answer.content) < FEW_HUNDRED) == (409, True)


def test_name_is_judged_before_the_token() -> None:
    token = enrolment_create(host="cmp-7").token
    answer = enrol(host="cmp 7", token=token)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "host")


def test_guessed_tokens_have_a_brake_by_address(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        codes = [enrol().status_code for _ in range(FREE_TRIES + 1)]
        braked = enrol()
    assert codes == [403] * FREE_TRIES + [429]
    assert agents.code_of(braked) == "throttled"
    assert int(braked.headers["Retry-After"]) > 0
    assert "an enrolment for host cmp-7 from 192.0.2.7 was refused" in caplog.text
    assert "an enrolment for host cmp-7 from 192.0.2.7 has to wait" in caplog.text
    token = enrolment_create(host="cmp-7").token
    assert enrol(token=token).status_code == 429, "not even a right one is judged"
    assert enrol(token=token, address="192.0.2.8").status_code == 200, "another address does not wait"


def test_token_that_was_made_here_is_no_guess() -> None:
    token = enrolment_create(host="cmp-7").token
    assert enrol(token=token).status_code == 200
    other = secret_digest("kna_other")
    codes = {enrol(token=token, digest=other).status_code for _ in range(FREE_TRIES + 5)}
    assert codes == {403}, "a unit that keeps a used token in its command makes nobody else wait"
    assert enrol(host="cmp-8", token=enrolment_create(host="cmp-8").token, digest=other).status_code == 200


def test_address_is_the_one_that_log_ins_go_by(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "TRUSTED_PROXIES": 1}
    body = encode({"host": "cmp-7", "token": "kn_guess", "secret_digest": DIGEST})
    with caplog.at_level(logging.WARNING):
        ask("enrol", body, **{"X-Forwarded-For": "203.0.113.5, 198.51.100.9"})
        ask("heartbeat", b"{}", **{"X-Forwarded-For": "203.0.113.5, 198.51.100.9"})
    assert "from 198.51.100.9 was refused" in caplog.text
    assert "a secret was refused that is no agent's, from 198.51.100.9" in caplog.text
    assert "203.0.113.5" not in caplog.text


def said_of_refusals(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if "a secret was refused" in one.getMessage()]


def test_refused_secret_is_told_with_host_and_address_and_seldom(caplog: pytest.LogCaptureFixture) -> None:
    world.cloud("h1")
    agent = agents.door_agent("h1")
    credential_revoke(host="h1")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert agents.code_of(agent.ask("heartbeat", host="h1")) == "secret_refused"
            assert agents.code_of(agent.post("wakeups", b"{}")) == "secret_refused"
            assert agents.code_of(agent.post("console", b"")) == "secret_refused"
    (said,) = said_of_refusals(caplog)
    assert "host h1 had until it was revoked" in said
    assert said.endswith("from 127.0.0.1")
    assert agent.secret not in caplog.text


def test_refused_secret_of_before_a_rotation_or_a_removal_names_its_host(caplog: pytest.LogCaptureFixture) -> None:
    before, after = secret_digest("kna_before"), secret_digest("kna_after")
    token = enrolment_create(host="h1").token
    assert enrol("h1", token, before).status_code == 200
    credential_rotate(host="h1", old_digest=before, secret_digest=after)
    AgentCredential.objects.update(previous_until="2020-01-01T00:00:00Z")
    token = enrolment_create(host="h2").token
    assert enrol("h2", token, secret_digest("kna_gone")).status_code == 200
    host_remove(host="h2")
    with caplog.at_level(logging.WARNING):
        for secret in ("kna_before", "kna_gone"):
            assert ask("heartbeat", b"{}", Authorization=f"Bearer {secret}").status_code == 403
    assert [host in said for host, said in zip(("h1", "h2"), said_of_refusals(caplog), strict=True)] == [True, True]


def test_strangers_are_told_of_once_for_each_address(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for number in range(6):
            ask("heartbeat", b"{}", address=f"192.0.2.{number % 2}", Authorization=f"Bearer kna_{number}")
    assert len(said_of_refusals(caplog)) == 2
