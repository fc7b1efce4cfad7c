"""What the mixed load asks of instances by the table of actions: which action in which state, and how."""

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.drill.asking import Ask
from tests.drill.names import FLAVOR, RESTORED, SNAPSHOT, VOLUME, image_name

ACTIONS = {
    "active": (
        "on_crash",
        "stop",
        "rescue",
        "pause",
        "rebuild",
        "suspend",
        "reboot_soft",
        "reboot",
        "attach_interface",
        "detach_interface",
        "soft_delete",
        "backup",
        "shelve",
        "snapshot",
        "change_password",
        "trigger_crash_dump",
        "reset_state",
    ),
    "stopped": ("start", "start", "rebuild"),
    "paused": ("unpause",),
    "suspended": ("resume",),
    "shelved": ("shelve_offload", "unshelve"),
    "shelved_offloaded": ("unshelve", "unshelve"),
    "rescued": ("unrescue", "reboot", "unrescue"),
    "soft-delete": ("restore", "restore"),
}
"""What a burst does to instances in each state: one thing to each, as far as there are instances."""
OF_SOME = {
    "schedule_again": "Of one that is in ERROR since no host has room for it.",
    "reset_state": "Back to active, of one whose guest runs and that the load itself reset to error.",
    "crash_seen": "Of one whose guest crashed.",
}
"""What a burst does to those alone that are so: see `Load.burst`."""
RECORDS = ("rename", "lock", "protect", "tag")
"""What it does to the record of one of them, whatever its state."""
OTHERWISE = frozenset(
    {
        "create",
        "force_delete",
        "screenshot",
        "update",
        "lock",
        "unlock",
        "protect",
        "unprotect",
        "attach_volume",
        "detach_volume",
    }
)
"""Actions that no state stands for: those of a creation, a deletion, `RECORDS`, a look, and of volumes."""
NEVER = {
    "delete": "The drill's deletions can be undone, which is `soft_delete`, or are for good at once: `force_delete`.",
}
"""Those that it does not ask for, and why."""
TRIES = 5
MAX_SNAPSHOTS = 4
SNAPSHOTS = f"images/?search={SNAPSHOT}&page_size=100"
GONE = (404,)
"""Right for what somebody else takes away meanwhile."""

ARGUMENTS = {
    "on_crash": {"policy": "restart"},
    "backup": {"name": "drill", "backup_type": "drill", "rotation": "0"},
    "snapshot": {"name": SNAPSHOT},
    "change_password": {"password": "a new one of the drill"},
}
"""What comes with an action. Backups of rotation 0 are made, sent, and gone again."""

REBOOTED_OVER = {"reboot_soft", "pause", "suspend", "unpause", "resume"}
"""Of half of these, somebody loses patience: a hard reboot takes their place."""


class ActionLoad:
    """Steps side by side with each other. Refusals by the state of things (409) are right.

    `network`: one of those for guests; `port`: one that asks Placement for something, if there is one that nobody has;
    `from_volume`: the instances that boot from a volume.
    """

    def __init__(
        self,
        ask: Ask,
        rng: random.Random,
        *,
        name: Callable[[], str],
        network: Callable[[], str],
        port: Callable[[], str | None],
        from_volume: set[str],
    ) -> None:
        self._ask, self._rng, self._name, self._network = ask, rng, name, network
        self._port = port
        self._from_volume = from_volume
        self._lock = threading.Lock()
        self.reset: set[str] = set()
        """Instances whose record says error since the load asked for that; their guests run."""

    def calls(
        self, by_state: Mapping[str, Sequence[str]], *, must_rebuild_volume: bool = False
    ) -> list[Callable[[], None]]:
        """One thing to each of these instances, by its state, as far as there are actions. Where one that boots from a
        volume must be rebuilt, it is if there is any.
        """
        calls = []
        for state, possible in ACTIONS.items():
            staying, actions = list(by_state.get(state, ())), list(possible)
            if state == "active":
                self._rng.shuffle(actions)  # there are fewer instances than actions
                if must_rebuild_volume:
                    actions.sort(key=lambda action: action != "rebuild")
                self._rebuild_one_with_volume(staying, actions)
            calls += [self.call(uid, action) for uid, action in zip(staying, actions, strict=False)]
        return calls

    def call(self, uid: str, action: str) -> Callable[[], None]:
        """`act`, for later."""
        return lambda: self.act(uid, action)

    def _rebuild_one_with_volume(self, staying: list[str], actions: Sequence[str]) -> None:
        """Change places, so that one that boots from a volume is the one that is rebuilt, if there is any."""
        place = actions.index("rebuild") if "rebuild" in actions else len(staying)
        booted = [number for number, uid in enumerate(staying) if uid in self._from_volume]
        if booted and place < len(staying):
            staying[place], staying[booted[0]] = staying[booted[0]], staying[place]

    def act(self, uid: str, action: str) -> None:
        """Ask for one of `ACTIONS` or `OF_SOME`; instead of a card, a volume comes or goes now and then."""
        path = f"instances/{uid}/"
        if action.endswith("_interface") and self._rng.random() < 0.5:
            self.volume(uid)
        elif action == "soft_delete":
            self._ask(path, None, "DELETE", subject=uid, fine=GONE, action=action)
        elif action == "rebuild":
            anew = {"reimage_boot_volume": True} if uid in self._from_volume else {}
            body = {"image": image_name(self._rng.randrange(2)), **anew}
            self._ask(f"{path}rebuild/", body, subject=uid, action=action)
        elif action == "detach_interface":
            cards = self._ask(f"{path}interfaces/", None, "GET", fine=GONE) or []
            for card in cards[-1:]:
                of_card = f"{path}interfaces/{card['port_id']}/"
                self._ask(of_card, None, "DELETE", subject=uid, fine=GONE, action=action)
        elif action == "rescue":
            self._ask(f"{path}rescue/", {}, subject=uid, action=action)
        elif action == "reset_state":
            self._reset(uid)
        elif action == "schedule_again":  # as it was, or so that there is room
            changes = {"flavor": FLAVOR} if self._rng.random() < 0.7 else {}
            self._ask(f"{path}schedule-again/", changes, subject=uid, fine=GONE, action=action)
        else:
            self._by_name(uid, action)

    def _by_name(self, uid: str, action: str) -> None:
        path, body = f"instances/{uid}/actions/", {"action": action, **ARGUMENTS.get(action, {})}
        if action == "attach_interface" and self._rng.random() < 0.4 and (port := self._port()) is not None:
            self._ask(path, {**body, "port": port}, subject=uid, action="attach_port")
            return
        if action == "attach_interface":
            body["network"] = self._network()
            if self._rng.random() < 0.3:  # the second one waits behind the first
                self._ask(path, body, subject=uid, action=action)
            body["tag"] = f"more-{self._rng.randrange(10**9)}"
        if action == "snapshot":
            self._room_for_snapshot()
        self._ask(path, body, subject=uid, action=action)
        if action in REBOOTED_OVER and self._rng.random() < 0.5:
            self._ask(path, {"action": "reboot"}, subject=uid, action="reboot")

    def _reset(self, uid: str) -> None:
        """Its record says error though its guest runs, or says again that it is active. Of one that another work is
        under way for it is refused.
        """
        with self._lock:
            state = "active" if uid in self.reset else "error"
        body = {"state": state, "reason": "the drill"}
        if self._ask(f"instances/{uid}/reset-state/", body, subject=uid, fine=GONE, action="reset_state") is None:
            return
        with self._lock:
            (self.reset.add if state == "error" else self.reset.discard)(uid)

    def volume(self, uid: str) -> None:
        """Detach a volume that the instance does not boot from; one without gets a volume that nobody has."""
        path = f"instances/{uid}/volumes/"
        had = self._ask(path, None, "GET", fine=GONE) or []
        for one in [each for each in had if each["boot_index"] < 0][:1]:
            self._ask(f"{path}{one['volume_id']}/", None, "DELETE", subject=uid, fine=GONE, action="detach_volume")
            return
        free = (self._ask("volumes/?state=available", None, "GET") or {}).get("results", [])
        for one in [each for each in free if each["name"] not in (VOLUME, RESTORED)][:1]:
            body = {"volume": one["id"], "delete_on_termination": True}
            self._ask(path, body, subject=uid, fine=GONE, action="attach_volume")

    def note(self, uid: str, what: str) -> None:
        """Do one of `RECORDS`. A lock and a protection are taken off again, so that the rest of the load goes on."""
        path = f"instances/{uid}/"
        if what == "rename":
            self._ask(path, {"name": self._name()}, "PATCH", subject=uid, fine=GONE, action="update")
        elif what == "tag":
            self._ask(f"{path}tags/drill/", None, "PUT", subject=uid, fine=GONE, action="update")
        else:
            self._ask(f"{path}actions/", {"action": what}, subject=uid, fine=GONE, action=what)
            undone = f"un{what}"
            for _ in range(TRIES):
                body = {"action": undone}
                if self._ask(f"{path}actions/", body, subject=uid, fine=GONE, action=undone) is not None:
                    return

    def look(self, uid: str) -> None:
        """At its screen, its log, and at what can be done to it: one that goes meanwhile is not found."""
        self._ask(f"instances/{uid}/screenshot/", {}, fine=GONE, action="screenshot")
        for what in ("screenshot", "console-log", "console-log/download", "actions", "counters"):
            self._ask(f"instances/{uid}/{what}/", None, "GET", fine=GONE)

    def _room_for_snapshot(self) -> None:
        """Where there are many, one goes for it that is whole."""
        whole = [one["id"] for one in self._snapshots() if one["status"] == "active"]
        if len(whole) >= MAX_SNAPSHOTS:
            self._ask(f"images/{self._rng.choice(whole)}/", None, "DELETE", fine=GONE)

    def drain(self) -> list[str]:
        """Ask that all snapshots go, when nothing is under way. Returns those that are half made: the host that could
        not make one leaves nothing of it, nor does a deletion of its instance.
        """
        found = self._snapshots()
        for one in found:
            self._ask(f"images/{one['id']}/", None, "DELETE", fine=GONE)
        return [f"snapshot {one['id']} is {one['status']}" for one in found if one["status"] != "active"]

    def left(self) -> list[str]:
        """Snapshots that are there after all were deleted."""
        return [f"snapshot {one['id']} is left after all were deleted" for one in self._snapshots()]

    def _snapshots(self) -> list[dict[str, Any]]:
        """Nothing, where the answer broke off."""
        found: list[dict[str, Any]] = (self._ask(SNAPSHOTS, None, "GET") or {}).get("results", [])
        return found
