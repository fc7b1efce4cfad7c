"""How long each action of an instance takes, from the request to the state that it ends in, on a running installation.

    python -m bench.actions --url http://127.0.0.1:8000 --password-file FILE [--user admin] [--rounds 3]

The installation is somebody's: start one with `make run`. One instance of the smallest flavor and the first active
image goes through all actions in turn; it, its volume and the images that it made are deleted at the end. Printed for
each action: the states before and after, and the median of the rounds in seconds. Before an action that asks the guest
itself to shut down, it gets --boot-s seconds to come up, which are not counted. A deletion that can be undone is among
them where RECLAIM_INSTANCE_INTERVAL_S is set.
"""

import argparse
import json
import statistics
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WITHIN_S = 300.0
POLL_S = 0.02


class Api:
    """Calls of `/api/` as one user."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self._url, self._token = url.rstrip("/"), ""
        self._token = self.call("tokens/", {"username": user, "password": password})["token"]

    def call(self, path: str, body: Any = None, method: str | None = None) -> Any:
        """The parsed answer; None for one without a body. Raises SystemExit with what was refused."""
        headers = {"Content-Type": "application/json", "X-Auth-Token": self._token}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}/api/{path}", data=data, headers=headers, method=method)  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise SystemExit(
                f"{method or 'POST' if body is not None else 'GET'} {path}: {error.read().decode()}"
            ) from error
        return json.loads(text) if text else None


@dataclass(frozen=True)
class Step:
    """An action, how it is asked for, and the status in which the instance is idle afterwards."""

    name: str
    path: str
    body: Any
    status: str
    method: str | None = None


ASKS_THE_GUEST = {"reboot_soft", "stop", "rescue", "shelve", "soft_delete"}
VOLUME = "bench-actions"


def act(name: str, status: str, /, **arguments: str) -> Step:
    """One of those that are asked for by name."""
    return Step(name, "actions/", {"action": name, **arguments}, status)


STEPS = (
    act("pause", "PAUSED"),
    act("unpause", "ACTIVE"),
    act("suspend", "SUSPENDED"),
    act("resume", "ACTIVE"),
    act("reboot_soft", "ACTIVE"),
    act("reboot", "ACTIVE"),
    act("stop", "SHUTOFF"),
    # The demo image does not let go of a disk while it runs.
    act("attach_volume", "SHUTOFF", volume=VOLUME),
    act("detach_volume", "SHUTOFF", volume=VOLUME),
    act("start", "ACTIVE"),
    act("lock", "ACTIVE", reason="bench"),
    act("unlock", "ACTIVE"),
    act("protect", "ACTIVE"),
    act("unprotect", "ACTIVE"),
    act("on_crash", "ACTIVE", policy="restart"),
    Step("update", "", {"description": "bench", "metadata": {"bench": "yes"}}, "ACTIVE", "PATCH"),
    act("snapshot", "ACTIVE", name="bench-snapshot"),
    act("backup", "ACTIVE", name="bench-backup", backup_type="bench", rotation="1"),
    Step("rescue", "rescue/", {}, "RESCUE"),
    act("unrescue", "ACTIVE"),
    Step("rebuild", "rebuild/", {}, "ACTIVE"),
    act("shelve", "SHELVED_OFFLOADED"),
    act("unshelve", "ACTIVE"),
    Step("reset_state", "reset-state/", {"state": "active"}, "ACTIVE"),
)
UNDONE = (Step("soft_delete", "", None, "SOFT_DELETED", "DELETE"), act("restore", "ACTIVE"))


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


def one_round(
    api: Api, took: dict[tuple[str, str, str], list[float]], boot_s: float, *, is_undone: bool = False
) -> None:
    """One instance through all of them."""
    images = api.call("images/?status=active&page_size=100")["results"]
    image = next(one for one in images if one["disk_format"] == "qcow2")
    flavor = api.call("flavors/?ordering=memory_mib")["results"][0]
    # First, since it is refused where no host has a pool of volumes: then nothing was made.
    volume = f"volumes/{api.call('volumes/', {'name': VOLUME, 'size_gib': 1})['id']}/"
    ended(api, volume, lambda one: one["state"] == "available")
    began = time.monotonic()
    made = api.call("instances/", {"name": "bench-actions", "flavor": flavor["id"], "image": image["id"]})
    path = f"instances/{made['instances'][0]['id']}/"
    now = ended(api, path, is_idle("ACTIVE", "ERROR"))
    took["create", "", now["status"]].append(time.monotonic() - began)
    if now["status"] == "ERROR":
        raise SystemExit(f"it is not built: {now['fault']}")
    for step in (*STEPS, *(UNDONE if is_undone else ())):
        if step.name in ASKS_THE_GUEST:
            time.sleep(boot_s)
        body = {"image": image["id"]} if step.name == "rebuild" else step.body
        began = time.monotonic()
        api.call(path + step.path, body, step.method)
        after = ended(api, path, is_idle(step.status))
        took[step.name, now["status"], after["status"]].append(time.monotonic() - began)
        now = after
    began = time.monotonic()
    api.call(f"{path}?force=1", method="DELETE")
    listed = "instances/?name=bench-actions"
    ended(api, listed, lambda found: not any(one["id"] in path for one in found["results"]))
    took["delete", now["status"], ""].append(time.monotonic() - began)
    api.call(volume, method="DELETE")
    for one in api.call("images/?search=bench-&page_size=100")["results"]:
        api.call(f"images/{one['id']}/", method="DELETE")


def main() -> None:
    """Run, and print one row for each action."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--user", default="admin")
    parser.add_argument("--password-file", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--boot-s", type=float, default=10.0)
    parser.add_argument("--undone", action="store_true", help="deletions can be undone there: soft_delete and restore")
    options = parser.parse_args()
    api = Api(options.url, options.user, options.password_file.read_text().strip())
    took: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for _ in range(options.rounds):
        one_round(api, took, options.boot_s, is_undone=options.undone)
    print("| action | before | after | seconds |\n| --- | --- | --- | --- |")
    for (name, before, after), seconds in took.items():
        print(f"| {name} | {before} | {after} | {statistics.median(seconds):.2f} |")


if __name__ == "__main__":
    main()
