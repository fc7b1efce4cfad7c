"""Clients of the Image API, each as one person."""

import json
from dataclasses import dataclass
from typing import Any

from django.test import Client

from tests.fixtures.remembering import remembered
from tests.worlds.cloud import People, fresh_token, people

OCTETS = "application/octet-stream"
PATCH = "application/openstack-images-v2.1-json-patch"
JSON = "application/json"


class ImageApi:
    """One person at the door; `token` of nobody is empty."""

    def __init__(self, token: str = "") -> None:
        self.client = Client()
        self.token = token

    def call(self, method: str, path: str, body: Any = None, *, media_type: str = JSON, **headers: str) -> Any:
        """`body`: bytes as they are, anything else as JSON."""
        if self.token:
            headers.setdefault("X-Auth-Token", self.token)
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        kind = "" if body is None else media_type
        return self.client.generic(method, f"/image{path}", data, content_type=kind, headers=headers)

    def get(self, path: str, **headers: str) -> Any:
        return self.call("GET", path, **headers)

    def make(self, **fields: Any) -> dict[str, Any]:
        """A new image."""
        answer = self.call("POST", "/v2/images", {"name": "i", "disk_format": "raw", **fields})
        assert answer.status_code == 201, answer.content
        found: dict[str, Any] = answer.json()
        return found

    def send(self, image_id: str, data: bytes, **headers: str) -> Any:
        return self.call("PUT", f"/v2/images/{image_id}/file", data, media_type=OCTETS, **headers)

    def patch(self, image_id: str, *steps: dict[str, Any]) -> Any:
        return self.call("PATCH", f"/v2/images/{image_id}", list(steps), media_type=PATCH)

    def names(self, query: str = "") -> list[str]:
        """Of the images that a list shows."""
        answer = self.get(f"/v2/images{query}")
        assert answer.status_code == 200, answer.content
        return [one["name"] for one in answer.json()["images"]]


@dataclass(frozen=True)
class ImagePeople:
    """Who calls: as in `tests.worlds.cloud`."""

    who: People
    admin: ImageApi
    member: ImageApi
    reader: ImageApi
    stranger: ImageApi
    nobody: ImageApi


def image_people() -> ImagePeople:
    """Each with a fresh token."""
    who, tokens = _people_with_tokens()
    return ImagePeople(who, nobody=ImageApi(), **{name: ImageApi(token) for name, token in tokens.items()})


@remembered
def _people_with_tokens() -> tuple[People, dict[str, str]]:
    who = people()
    names = ("admin", "member", "reader", "stranger")
    return who, {name: fresh_token(getattr(who, name)) for name in names}


def message(answer: Any, status: int) -> str:
    """What a fault says, once its status and shape are right."""
    assert answer.status_code == status, answer.content
    fault = answer.json()
    assert fault["code"] == f"{status} {fault['title']}"
    said: str = fault["message"]
    assert said
    return said
