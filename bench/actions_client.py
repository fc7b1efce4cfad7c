"""A client of `/api/` that ends the bench with what was refused, and waits until something is so."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

WITHIN_S = 300.0
POLL_S = 0.02


class Api:
    """Calls of `/api/` as one user."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self._url, self._token = url.rstrip("/"), ""
        self._token = self.call("tokens/", {"username": user, "password": password})["token"]

    def call(self, path: str, body: Any = None, method: str | None = None) -> Any:
        """The parsed answer; None for one without a body. Bytes are sent as they are, anything else as JSON. Raises
        SystemExit with what was refused.
        """
        is_file = isinstance(body, bytes)
        kind = "application/octet-stream" if is_file else "application/json"
        headers = {"Content-Type": kind, "X-Auth-Token": self._token}
        data = body if is_file or body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}/api/{path}", data=data, headers=headers, method=method)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise SystemExit(
                f"{method or 'POST' if body is not None else 'GET'} {path}: {error.read().decode()}"
            ) from error
        return json.loads(text) if text else None


def is_idle(*statuses: str) -> Callable[[Any], bool]:
    """Whether an instance is in one of these, and nothing is under way with it."""
    return lambda one: one["status"] in statuses and not one["task_state"]


def ended(api: Api, path: str, is_end: Callable[[Any], bool]) -> Any:
    """Asked for again and again until it is so. Raises SystemExit when that takes too long."""
    until = time.monotonic() + WITHIN_S
    while not is_end(found := api.call(path)):
        if time.monotonic() > until:
            raise SystemExit(f"{path} is still {found.get('status')} {found.get('task_state')}: {found.get('fault')}")
        time.sleep(POLL_S)
    return found


def succeeded(api: Api, path: str, action: str) -> None:
    """Wait until the newest of these actions of the instance has ended. Raises SystemExit unless it went well."""

    def newest(journey: Any) -> Any:
        return next((one for one in reversed(journey["actions"]) if one["action"] == action), {})

    found = newest(ended(api, f"{path}journey/", lambda one: bool(newest(one).get("result"))))
    if found["result"] != "success":
        raise SystemExit(f"{action} ended as {found['result']}: {found['message']}")
