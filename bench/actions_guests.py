"""The share of `bench.actions` that needs guests of its own: one that found no host and crashes then, and one with an
agent inside.
"""

import base64
import time
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from bench.actions_client import Api, ended, is_idle, succeeded
from tests.fixtures.guest_agent import AGENT, LISTENS
from tests.fixtures.panicking_image import PANICS_IMAGE

Took = MutableMapping[tuple[str, str, str], list[float]]
"""Seconds by action, status before and status after."""

TOO_LARGE_GIB = 1_000_000
LOG = "console-log/?lines=1000"


def scheduled_again_and_crashed(api: Api, took: Took, flavor: str, *, is_deleted_at_once: bool) -> None:
    """No host has room for its flavor, then it is built with this one, and crashes at once; somebody sees it. How it is
    deleted counts where a deletion cannot be undone.
    """
    with _too_large(api) as large:
        made = api.call(
            "instances/", {"name": "bench-actions-again", "flavor": large, "image": _image_that_panics(api)}
        )
        path = f"instances/{made['instances'][0]['id']}/"
        ended(api, path, is_idle("ERROR"))
        began = time.monotonic()
        api.call(f"{path}schedule-again/", {"flavor": flavor})
        # It may have crashed before anybody looks.
        ended(api, path, lambda one: one["status"] in ("ACTIVE", "SHUTOFF") and not one["task_state"])
        took["schedule_again", "ERROR", "ACTIVE"].append(time.monotonic() - began)
    ended(api, path, lambda one: is_idle("SHUTOFF")(one) and one["power_state"] == "crashed")
    began = time.monotonic()
    api.call(f"{path}actions/", {"action": "crash_seen"})
    took["crash_seen", "SHUTOFF", "SHUTOFF"].append(time.monotonic() - began)
    began = time.monotonic()
    api.call(path if is_deleted_at_once else f"{path}?force=1", method="DELETE")
    gone(api, path, "bench-actions-again")
    if is_deleted_at_once:
        took["delete", "SHUTOFF", ""].append(time.monotonic() - began)


def password_changed(api: Api, took: Took, flavor: str, image: str) -> None:
    """By the agent that user data of the demo image brings; `image` is one of it that may be changed."""
    api.call(f"images/{image}/", {"properties": {"hw_qemu_guest_agent": "yes"}}, "PATCH")
    user_data = base64.b64encode(AGENT.encode()).decode()
    wanted = {"name": "bench-actions-agent", "flavor": flavor, "image": image, "user_data": user_data}
    path = f"instances/{api.call('instances/', wanted)['instances'][0]['id']}/"
    ended(api, path, is_idle("ACTIVE"))
    ended(api, f"{path}{LOG}", lambda log: f"\n{LISTENS}" in log["output"])
    began = time.monotonic()
    api.call(f"{path}actions/", {"action": "change_password", "password": "a new one"})
    ended(api, path, is_idle("ACTIVE"))
    took["change_password", "ACTIVE", "ACTIVE"].append(time.monotonic() - began)
    succeeded(api, path, "change_password")
    api.call(f"{path}?force=1", method="DELETE")
    gone(api, path, "bench-actions-agent")


def gone(api: Api, path: str, name: str) -> None:
    """Wait until the instance of this path, which has this name, is listed no more."""
    ended(api, f"instances/?name={name}", lambda found: not any(one["id"] in path for one in found["results"]))


@contextmanager
def _too_large(api: Api) -> Iterator[str]:
    """A flavor that no host has room for."""
    wanted = {"name": "bench-actions-large", "vcpus": 1, "memory_mib": 64, "root_gib": TOO_LARGE_GIB}
    flavor = str(api.call("flavors/", wanted)["id"])
    try:
        yield flavor
    finally:
        api.call(f"flavors/{flavor}/", method="DELETE")


def _image_that_panics(api: Api) -> str:
    image: Any = api.call("images/", {"name": "bench-panics", "disk_format": "raw"})["id"]
    api.call(f"images/{image}/file/", PANICS_IMAGE, "PUT")
    return str(image)
