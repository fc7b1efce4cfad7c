"""A client of the Compute API as one person, and what its answers hold."""

import json
from typing import Any

from django.test import Client

from controlplane.identity.domain import Caller
from tests.worlds.cloud import fresh_token

GENERIC, LEGACY = "OpenStack-API-Version", "X-OpenStack-Nova-API-Version"
NEWEST = 100


class ComputeClient:
    """Calls the door at one microversion, unless a call says another."""

    def __init__(self, caller: Caller | None = None, *, minor: int | None = None) -> None:
        self.client = Client()
        self.minor = minor
        self.token = fresh_token(caller) if caller else ""

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        minor: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        """`path` is below the version, such as /servers."""
        sent = dict(headers or {})
        if self.token:
            sent["X-Auth-Token"] = self.token
        if asked := minor or self.minor:
            sent.setdefault(GENERIC, f"compute 2.{asked}")
        more = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
        return self.client.generic(method, f"/compute/v2.1{path}", headers=sent, **more)

    def get(self, path: str, **more: Any) -> Any:
        """The JSON of a 200."""
        answer = self.call("GET", path, **more)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def act(self, server_id: object, name: str, value: Any = None, **more: Any) -> Any:
        """An action."""
        return self.call("POST", f"/servers/{server_id}/action", {name: value}, **more)


def fault_of(answer: Any, status: int, name: str) -> str:
    """The message of a fault of this status and name."""
    assert answer.status_code == status, answer.content
    (found,) = answer.json()
    fault = answer.json()[found]
    assert (found, fault["code"], set(fault)) == (name, status, {"code", "message"})
    return str(fault["message"])
