"""An agent that is too old or too new: refused with a sentence, noted for its host, and forgotten once it fits."""

import logging
from datetime import timedelta

import pytest
from django.db.models import F

from computeagent.protocol.wire import PROTOCOL_VERSION
from servers.agent_api.credentials import agent_refusals, credential_revoke, credential_set
from servers.models import AgentCredential
from tests.worlds import agents
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
TOO_NEW = str(PROTOCOL_VERSION + 2)


@pytest.fixture
def who() -> world.People:
    return world.cloud("h1", "h2")


@pytest.fixture
def agent(who: world.People) -> agents.DoorAgent:
    return agents.door_agent("h1")


def refused(agent: agents.DoorAgent, version: str = TOO_NEW) -> None:
    before, agent.version = agent.version, version
    assert agents.code_of(agent.ask("heartbeat", host="h1")) == "incompatible"
    agent.version = before


def test_refused_agent_is_shown_with_its_host(
    agent: agents.DoorAgent, who: world.People, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        refused(agent)
    assert f"the agent of host h1 was refused: it speaks version {TOO_NEW}" in caplog.text
    (row,) = world.client_of(who.admin).get("/api/agents/").json()["results"]
    assert (row["host"], row["refused_version"]) == ("h1", TOO_NEW)
    assert f"it speaks version {TOO_NEW} of the agents' protocol" in row["refusal"]
    assert "Upgrade whichever is older" in row["refusal"]


def test_agent_that_fits_again_is_shown_no_more(agent: agents.DoorAgent) -> None:
    refused(agent)
    agent.tell("heartbeat", host="h1")
    assert agent_refusals(["h1"])
    agent.tell("void_leases", host="h1", owner_prefix="h1:")
    assert not agent_refusals(["h1"])


def test_new_secret_forgets_the_refusal(agent: agents.DoorAgent) -> None:
    refused(agent)
    credential_set(host="h1", secret_digest="f" * 64)
    assert not agent_refusals(["h1"])


def test_one_that_asks_again_and_again_is_noted_once_a_minute(agent: agents.DoorAgent) -> None:
    refused(agent)
    first = AgentCredential.objects.get().refused_at
    refused(agent)
    assert AgentCredential.objects.get().refused_at == first
    AgentCredential.objects.update(refused_at=F("refused_at") - timedelta(seconds=61))
    refused(agent)
    later = AgentCredential.objects.get().refused_at
    assert first is not None and later is not None and later >= first


def test_other_version_is_noted_at_once_and_cut_to_its_column(agent: agents.DoorAgent) -> None:
    refused(agent)
    refused(agent, "9" * 500)
    assert AgentCredential.objects.get().refused_version == "9" * 20


@pytest.mark.parametrize("secret", ["", "kna_unknown"])
def test_nobodys_secret_notes_nothing(agent: agents.DoorAgent, secret: str) -> None:
    agent.secret = secret
    refused(agent)
    assert not agent_refusals(["h1", "h2"])


def test_revoked_agent_is_shown_as_such(agent: agents.DoorAgent) -> None:
    refused(agent)
    credential_revoke(host="h1")
    refused(agent, "x")
    assert agent_refusals(["h1", "h2"]) == {
        "h1": "The secret of its agent was revoked. The host may be enrolled again."
    }
