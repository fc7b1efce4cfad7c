"""A client of the Volume API, as one person, and a cloud with a pool for it."""

import json
from dataclasses import dataclass, replace
from typing import Any

from django.test import Client

from controlplane.identity.domain import Caller
from scheduling.fleet.services.hosts import host_register
from tests.fixtures.remembering import remembered
from tests.worlds.cloud import REPORT, People, fresh_token, image, people
from tests.worlds.volumes import storage_pool

LATEST = "volume 3.67"


@dataclass(frozen=True, slots=True)
class VolumeClient:
    """Calls the door with a token; `version` is sent where it is not empty."""

    token: str = ""
    version: str = LATEST

    def call(self, method: str, path: str, body: Any = None, *, version: str | None = None, **headers: str) -> Any:
        if self.token:
            headers.setdefault("X-Auth-Token", self.token)
        if said := self.version if version is None else version:
            headers.setdefault("OpenStack-API-Version", said)
        sent = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
        return Client().generic(method, f"/volume{path}", headers=headers, **sent)

    def get(self, path: str, *, version: str | None = None) -> Any:
        """What a GET says, which is found."""
        answer = self.call("GET", f"/v3{path}", version=version)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def send(self, method: str, path: str, body: Any = None, *, status: int, version: str | None = None) -> Any:
        """What a change says, which is answered with this status."""
        answer = self.call(method, f"/v3{path}", body, version=version)
        assert answer.status_code == status, answer.content
        return answer.json() if answer.content else None

    def fault(self, method: str, path: str, body: Any = None, *, status: int, version: str | None = None) -> str:
        """What a refusal says, in Cinder's shape."""
        ((name, said),) = self.send(method, path, body, status=status, version=version).items()
        names = {400: "badRequest", 403: "forbidden", 404: "itemNotFound", 405: "badMethod", 409: "conflictingRequest"}
        names |= {401: "error", 413: "overLimit", 503: "serviceUnavailable"}
        assert (name, said["code"]) == (names.get(status, "computeFault"), status)
        assert said["message"]
        return str(said["message"])


def volume_client(caller: Caller) -> VolumeClient:
    """The same as this person, with a fresh token."""
    return VolumeClient(fresh_token(caller))


@remembered
def volume_cloud() -> People:
    """People who log in, an image, and a shared pool that one host reaches."""
    found = people()
    image()
    host_register(host="h1", report=replace(REPORT, hypervisor_hostname="h1"))
    storage_pool("shared", "h1")
    return found
