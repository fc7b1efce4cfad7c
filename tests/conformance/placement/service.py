"""A small client of the Placement API, for building and clearing worlds as the test identity's administrator."""

import json
import urllib.error
import urllib.request
from typing import Any

ADMINISTRATOR = "admin"
TIMEOUT_S = 30.0


class ServiceError(RuntimeError):
    """A step of building or clearing was refused or got no answer; the message holds the step and what came back."""


class Service:
    """One Placement service at `url`, mount prefix included."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def call(self, method: str, path: str, version: str, body: Any = None) -> Any:
        """One request at one microversion. The decoded answer, None where there is none."""
        request = urllib.request.Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={
                "X-Auth-Token": ADMINISTRATOR,
                "OpenStack-API-Version": f"placement {version}",
                "Accept": "application/json",
                **({} if body is None else {"Content-Type": "application/json"}),
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise ServiceError(f"{method} {path}: {error.code} {error.read()[:300]!r}") from None
        except OSError as error:
            raise ServiceError(f"{method} {self.url}{path}: {error}") from error
        return json.loads(text) if text else None

    def providers(self) -> list[dict[str, Any]]:
        """All providers, with their places in the trees."""
        return list(self.call("GET", "/resource_providers", "1.14")["resource_providers"])

    def consumers_of(self, provider: str) -> list[str]:
        """The uuids of those who hold some of a provider."""
        return list(self.call("GET", f"/resource_providers/{provider}/allocations", "1.0")["allocations"])
