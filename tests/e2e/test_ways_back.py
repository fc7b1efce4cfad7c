"""Soft deletion, rescue and rebuild as a whole: by the API, through the agent, with a real guest, timed."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.drill.faults.fault import instance, is_active, make, runs_on, until
from tests.drill.names import image_name
from tests.drill.stage import Environment, Stage, agents

pytestmark = [pytest.mark.processes, pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]
HOST = "q1"
WITHIN_S = 180.0


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """One real host on SQLite. The path of its sockets must be short."""
    with (
        tempfile.TemporaryDirectory(prefix="kd-") as directory,
        Stage(Environment.SQLITE, Path(directory), agents(qemu=1, test=0)) as stage,
    ):
        yield stage


@pytest.fixture
def guest(stage: Stage) -> "Guest":
    """An instance that runs and has said so."""
    made = Guest(stage, make(stage, host=HOST))
    until(lambda: is_active(stage, made.uid), WITHIN_S, "it is built")
    until(lambda: made.said(0) == 1, WITHIN_S, "it has booted")
    return made


class Guest:
    """One instance, and what is on its host of it."""

    def __init__(self, stage: Stage, uid: str) -> None:
        self._stage, self.uid = stage, uid
        self.took_s: dict[str, float] = {}

    def ask(self, what: str, path: str, body: Any, *, then: str, method: str | None = None) -> None:
        """Ask for it, and wait until it is in that state and idle."""
        began = time.monotonic()
        answer = self._stage.client.call(f"instances/{self.uid}/{path}", body, method)
        assert answer.is_ok, answer
        until(lambda: self._state() == (then, ""), WITHIN_S, f"{what} ends in {then}, not {self._state()}")
        self.took_s[what] = round(time.monotonic() - began, 1)

    def act(self, action: str, *, then: str) -> None:
        """One of the actions that have a name."""
        self.ask(action, "actions/", {"action": action}, then=then)

    def _state(self) -> tuple[str, str]:
        row = instance(self._stage, self.uid) or {"vm_state": "gone", "task_state": ""}
        return row["vm_state"], row["task_state"]

    def files(self) -> set[str]:
        """Names of the files that its host has of it."""
        return {path.name for path in self._stage.directory.rglob(f"i/{self.uid}/*")}

    def said(self, image: int) -> int:
        """How often a guest of this image has booted, by its serial log."""
        logs = list(self._stage.directory.rglob(f"i/{self.uid}/console.log"))
        return sum(log.read_bytes().count(f"{image_name(image)} runs".encode()) for log in logs)

    def runs(self) -> bool:
        return runs_on(self._stage, self.uid) == [HOST]


def test_deleted_guest_is_off_with_its_disk_and_runs_again_once_it_is_restored(stage: Stage, guest: Guest) -> None:
    guest.ask("soft delete", "", None, method="DELETE", then="soft-delete")
    assert not guest.runs()
    assert "disk" in guest.files()
    guest.act("restore", then="active")
    assert guest.runs()
    until(lambda: guest.said(0) == 2, WITHIN_S, "it boots from the disk that it had")
    print(guest.took_s)


def test_rescue_and_back_and_two_rebuilds(stage: Stage, guest: Guest) -> None:
    guest.ask("rescue", "rescue/", {"image": image_name(1)}, then="rescued")
    until(lambda: guest.said(1) == 1, WITHIN_S, "it boots from the rescue disk")
    assert "disk.rescue" in guest.files()
    guest.act("reboot", then="rescued")
    until(lambda: guest.said(1) == 2, WITHIN_S, "it stays in the rescue")
    guest.act("unrescue", then="active")
    until(lambda: guest.said(0) == 2, WITHIN_S, "it boots from its own disk again")
    assert "disk.rescue" not in guest.files()

    guest.ask("rebuild", "rebuild/", {"image": image_name(2)}, then="active")
    until(lambda: guest.said(2) == 1, WITHIN_S, "it boots from the new image")
    guest.act("stop", then="stopped")
    guest.ask("rebuild when off", "rebuild/", {}, then="stopped")
    assert not guest.runs()
    assert guest.said(2) == 0
    guest.act("start", then="active")
    until(lambda: guest.said(2) == 1, WITHIN_S, "it boots")

    guest.ask("rescue again", "rescue/", {}, then="rescued")
    stage.load.delete(guest.uid)
    until(lambda: instance(stage, guest.uid) is None, WITHIN_S, "it is deleted")
    assert not guest.files()
    print(guest.took_s)
    assert not stage.faults_now()
