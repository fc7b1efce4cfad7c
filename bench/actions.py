"""How long each action of an instance takes, from the request to the state that it ends in, on a running installation.

    python -m bench.actions --url http://127.0.0.1:8000 --password-file FILE [--user admin] [--rounds 3] [--undone]

The installation is somebody's: start one with `make run`. One instance of the smallest flavor and the first active
image goes through the actions in turn; two more are scheduled again, crash, and get a password. They, the volume, the
flavor and the images that the bench made are deleted at the end. Printed for each action: the states before and after,
and the median of the rounds in seconds. Before an action that asks the guest itself to shut down, or to let go of a
card, it gets --boot-s seconds to come up, which are not counted. Where RECLAIM_INSTANCE_INTERVAL_S is set, a deletion
that can be undone (--undone) is among them; where SHELVED_OFFLOAD_TIME_S is -1, leaving the host is an action of its
own and no part of shelving; where no host carries a network, no card comes and goes.
"""

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

from bench.actions_client import Api, ended, is_idle, succeeded
from bench.actions_guests import Took, gone, password_changed, scheduled_again_and_crashed


@dataclass(frozen=True)
class Step:
    """An action, how it is asked for, and the statuses in which the instance is idle afterwards.

    `$image` and the like in path and body are filled in (`_values`). `only_in`: passed over in another status.
    `is_task`: while it is under way the instance is not idle; else its journey says when it ended.
    """

    name: str
    path: str
    body: Any
    statuses: tuple[str, ...]
    method: str | None = None
    only_in: str = ""
    is_task: bool = True

    def filled(self, values: Mapping[str, str]) -> tuple[str, Any]:
        """Path and body."""
        body = self.body
        if isinstance(body, dict):
            body = {
                name: Template(value).substitute(values) if isinstance(value, str) else value
                for name, value in body.items()
            }
        return Template(self.path).substitute(values), body


ASKS_THE_GUEST = {"reboot_soft", "stop", "rescue", "shelve", "soft_delete", "detach_interface"}
VOLUME = "bench-actions"


def act(name: str, /, *statuses: str, is_task: bool = True, only_in: str = "", **arguments: str) -> Step:
    """One of those that are asked for by name."""
    return Step(name, "actions/", {"action": name, **arguments}, statuses, is_task=is_task, only_in=only_in)


NETWORK_STEPS = (
    act("attach_interface", "ACTIVE", network="$network"),
    Step("detach_interface", "interfaces/$port/", None, ("ACTIVE",), "DELETE"),
)
STEPS = (
    act("pause", "PAUSED"),
    act("unpause", "ACTIVE"),
    act("suspend", "SUSPENDED"),
    act("resume", "ACTIVE"),
    act("reboot_soft", "ACTIVE"),
    act("reboot", "ACTIVE"),
    act("trigger_crash_dump", "ACTIVE", is_task=False),
    act("stop", "SHUTOFF"),
    # The demo image does not let go of a disk while it runs.
    act("attach_volume", "SHUTOFF", volume="$volume"),
    act("detach_volume", "SHUTOFF", volume="$volume"),
    act("start", "ACTIVE"),
    act("lock", "ACTIVE", reason="bench"),
    act("unlock", "ACTIVE"),
    act("protect", "ACTIVE"),
    act("unprotect", "ACTIVE"),
    act("on_crash", "ACTIVE", policy="restart"),
    Step("update", "", {"description": "bench", "metadata": {"bench": "yes"}}, ("ACTIVE",), "PATCH"),
    act("snapshot", "ACTIVE", name="bench-snapshot"),
    act("backup", "ACTIVE", name="bench-backup", backup_type="bench", rotation="1"),
    Step("rescue", "rescue/", {}, ("RESCUE",)),
    act("unrescue", "ACTIVE"),
    Step("rebuild", "rebuild/", {"image": "$image"}, ("ACTIVE",)),
    act("shelve", "SHELVED", "SHELVED_OFFLOADED"),
    act("shelve_offload", "SHELVED_OFFLOADED", only_in="SHELVED"),
    act("unshelve", "ACTIVE"),
    Step("reset_state", "reset-state/", {"state": "active"}, ("ACTIVE",)),
)
UNDONE = (Step("soft_delete", "", None, ("SOFT_DELETED",), "DELETE"), act("restore", "ACTIVE"))


@dataclass
class Round:
    """One instance, and what the steps of a round share."""

    api: Api
    took: Took
    boot_s: float
    path: str = ""
    values: dict[str, str] = field(default_factory=dict)

    def create(self) -> Any:
        """The instance; how it is then. Raises SystemExit where it is not built."""
        began = time.monotonic()
        body = {"name": "bench-actions", "flavor": self.values["flavor"], "image": self.values["image"]}
        made = self.api.call("instances/", body)
        self.path = f"instances/{made['instances'][0]['id']}/"
        now = ended(self.api, self.path, is_idle("ACTIVE", "ERROR"))
        self.took["create", "", now["status"]].append(time.monotonic() - began)
        if now["status"] == "ERROR":
            raise SystemExit(f"it is not built: {now['fault']}")
        return now

    def step(self, step: Step, now: Any) -> Any:
        """Do it and wait for its end; how the instance is then."""
        if step.only_in and now["status"] != step.only_in:
            return now
        if step.name in ASKS_THE_GUEST:
            time.sleep(self.boot_s)
        if "$port" in step.path:
            self.values["port"] = self.api.call(f"{self.path}interfaces/")[-1]["port_id"]
        path, body = step.filled(self.values)
        began = time.monotonic()
        self.api.call(self.path + path, body, step.method)
        if not step.is_task:
            succeeded(self.api, self.path, step.name)
        after = ended(self.api, self.path, is_idle(*step.statuses))
        self.took[step.name, now["status"], after["status"]].append(time.monotonic() - began)
        return after

    def picture(self, now: Any) -> None:
        """Of its screen, until there is one; it is no action of the journey."""
        began = time.monotonic()
        self.api.call(f"{self.path}screenshot/", {})
        found = ended(self.api, f"{self.path}screenshot/", lambda one: one["state"] in ("taken", "failed"))
        if found["state"] == "failed":
            raise SystemExit(f"no screenshot: {found['error']}")
        self.took["screenshot", now["status"], now["status"]].append(time.monotonic() - began)


def one_round(api: Api, took: Took, boot_s: float, *, is_undone: bool = False) -> None:
    """Instances through all of them."""
    # First, since it is refused where no host has a pool of volumes: then nothing was made.
    volume = f"volumes/{api.call('volumes/', {'name': VOLUME, 'size_gib': 1})['id']}/"
    ended(api, volume, lambda one: one["state"] == "available")
    values = _values(api)
    one = Round(api, took, boot_s, values=values)
    now = one.create()
    one.picture(now)
    for step in (*(NETWORK_STEPS if values["network"] else ()), *STEPS, *(UNDONE if is_undone else ())):
        now = one.step(step, now)
    began = time.monotonic()
    api.call(f"{one.path}?force=1", method="DELETE")
    gone(api, one.path, "bench-actions")
    took["force_delete", now["status"], ""].append(time.monotonic() - began)
    api.call(volume, method="DELETE")
    scheduled_again_and_crashed(api, took, values["flavor"], is_deleted_at_once=not is_undone)
    snapshot = api.call("images/?search=bench-snapshot&page_size=1")["results"][0]
    password_changed(api, took, values["flavor"], snapshot["id"])
    for image in api.call("images/?search=bench-&page_size=100")["results"]:
        api.call(f"images/{image['id']}/", method="DELETE")


def _values(api: Api) -> dict[str, str]:
    """What is filled into steps: `network` is empty where there is none for guests."""
    images = api.call("images/?status=active&page_size=100")["results"]
    networks = [one for one in api.call("networks/")["results"] if not one["is_external"]]
    return {
        "image": next(one for one in images if one["disk_format"] == "qcow2")["id"],
        "flavor": api.call("flavors/?ordering=memory_mib")["results"][0]["id"],
        "network": networks[0]["id"] if networks else "",
        "volume": VOLUME,
    }


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
    took: Took = defaultdict(list)
    for _ in range(options.rounds):
        one_round(api, took, options.boot_s, is_undone=options.undone)
    print("| action | before | after | seconds |\n| --- | --- | --- | --- |")
    for (name, before, after), seconds in took.items():
        print(f"| {name} | {before} | {after} | {statistics.median(seconds):.2f} |")


if __name__ == "__main__":
    main()
