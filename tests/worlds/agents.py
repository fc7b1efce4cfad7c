"""Agents at the door, as HTTP sees them: hosts with a secret, and requests in their name."""

import json
import uuid
from dataclasses import dataclass, field
from typing import Any

import msgspec
from django.test import Client

from computeagent.protocol.wire import (
    AGENT_HEADER,
    PREFIX,
    PROTOCOL_VERSION,
    VERSION_HEADER,
    encode,
    secret_digest,
    verbs,
)
from computeagent.protocol.work import WorkOrder
from servers.agent_api.credentials import credential_set


@dataclass
class DoorAgent:
    """The agent of one host; what it sends may be bent by a test."""

    host: str
    secret: str
    agent_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    version: str = str(PROTOCOL_VERSION)

    def post(self, path: str, body: bytes, **headers: str) -> Any:
        """The raw answer."""
        sent = {
            "Authorization": f"Bearer {self.secret}",
            AGENT_HEADER: self.agent_id,
            VERSION_HEADER: self.version,
            **headers,
        }
        return Client().post(PREFIX + path, body, content_type="application/json", headers=sent)

    def ask(self, verb: str, **arguments: Any) -> Any:
        """The raw answer to a verb."""
        return self.post(verb, verbs()[verb].body_of(arguments))

    def tell(self, verb: str, **arguments: Any) -> Any:
        """The decoded answer to a verb that must succeed."""
        answer = self.ask(verb, **arguments)
        assert answer.status_code == 200, answer.content[:500]
        return verbs()[verb].answer_of(answer.content)

    def own(self) -> "DoorAgent":
        """Claim the host."""
        self.tell("host_own", host=self.host, agent_id=self.agent_id, guests=[])
        return self

    def take(self) -> WorkOrder:
        """The next work of the host."""
        (wakeup, *_) = self.tell("waiting_work", host=self.host)
        order = self.tell("take", host=self.host, work_id=wakeup.work_id, owner=f"{self.host}:1")
        assert isinstance(order, WorkOrder)
        return order


def door_agent(host: str) -> DoorAgent:
    """An enrolled agent that owns its host."""
    secret = f"kna_of-{host}-{uuid.uuid4()}"
    credential_set(host=host, secret_digest=secret_digest(secret))
    return DoorAgent(host, secret).own()


def code_of(answer: Any) -> str:
    """The stable code of a refusal in the one shape of errors."""
    error = json.loads(answer.content)["error"]
    assert error["message"]
    assert error["request_id"].startswith("req-")
    return str(error["code"])


def plain(value: object) -> Any:
    """As JSON has it, to be bent."""
    return msgspec.json.decode(encode(value))
