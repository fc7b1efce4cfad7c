"""The mixed load of the drill asks for every action of the table, or says why it does not."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from servers.instances.actions.table import ACTIONS
from tests.drill import action_load
from tests.drill.action_load import NEVER, OF_SOME, OTHERWISE
from tests.drill.client import Answer
from tests.drill.load import Load
from tests.drill.report import Outcome, as_json, as_text
from tests.fixtures.file_server import file_server

BY_STATE = {name for names in action_load.ACTIONS.values() for name in names}
OTHERS: dict[str, Callable[[Load], None]] = {
    "create": lambda load: load.create(1),
    "force_delete": lambda load: load.delete("u1"),
    "screenshot": lambda load: load.actions.look("u1"),
    "update": lambda load: load.actions.note("u1", "rename"),
    "lock": lambda load: load.actions.note("u1", "lock"),
    "unlock": lambda load: load.actions.note("u1", "lock"),
    "protect": lambda load: load.actions.note("u1", "protect"),
    "unprotect": lambda load: load.actions.note("u1", "protect"),
    "attach_volume": lambda load: load.actions.volume("without"),
    "detach_volume": lambda load: load.actions.volume("u1"),
}
CARDS = [{"port_id": "p1"}]
DISKS = [{"volume_id": "v1", "boot_index": -1}]
SNAPSHOTS = [{"id": f"s{number}", "name": "drill-snapshot", "status": "active"} for number in range(9)]


class Door:
    """Answers as an installation with one instance would, and notes what it is asked to do."""

    port = 0

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.results: list[Any] = []
        self.status = 202

    def call(self, path: str, body: Any = None, method: str | None = None) -> Answer:
        method = method or ("GET" if body is None else "POST")
        if method != "GET":
            self.asked.append((method, path, body))
            return Answer(self.status, {"id": "new", "instances": []})
        of_instance = {
            "instances/u1/interfaces/": CARDS,
            "instances/u1/volumes/": DISKS,
            "instances/without/volumes/": [],
        }
        return Answer(200, of_instance.get(path, {"results": self.results}))


def load_of(door: Door, seed: int = 1) -> Load:
    with file_server() as files:
        return Load(door, ["t1"], random.Random(seed), files)  # type: ignore[arg-type]  # all that it asks of a client


def test_every_action_of_the_table_is_in_the_load_or_is_left_out_for_a_reason() -> None:
    asked = BY_STATE | set(OF_SOME) | set(OTHERWISE)
    assert set(ACTIONS) - asked - set(NEVER) == set(), "to be put into tests/drill/action_load.py"
    assert (asked | set(NEVER)) - set(ACTIONS) == set(), "no action of the table"
    assert asked & set(NEVER) == set()
    assert all(NEVER.values())


@pytest.mark.parametrize("name", sorted(BY_STATE | set(OF_SOME)))
def test_action_is_asked_for_and_counted_by_its_name(name: str) -> None:
    door, seen = Door(), []
    for seed in range(12):  # now and then a volume comes or goes instead of a card
        load = load_of(door, seed)
        load.actions.act("u1", name)
        seen.append(load.promises.actions.get(name, (0, 0)))
    assert max(seen)[0] >= 1
    assert all(asked == accepted for asked, accepted in seen)


@pytest.mark.parametrize("name", sorted(OTHERWISE))
def test_what_no_state_stands_for_is_asked_for_and_counted_too(name: str) -> None:
    door = Door()
    door.results = [{"id": "v2", "name": "of an instance"}]
    load = load_of(door)
    OTHERS[name](load)
    assert load.promises.actions.get(name) == (1, 1)


def test_reset_takes_turns_and_what_was_refused_changes_nothing() -> None:
    door = Door()
    load = load_of(door)
    for _ in range(2):
        load.actions.act("u1", "reset_state")
    door.status = 409
    load.actions.act("u1", "reset_state")
    assert [body["state"] for _, _, body in door.asked] == ["error", "active", "error"]
    assert not load.actions.reset
    assert load.promises.actions == {"reset_state": (3, 2)}


def test_snapshots_beyond_some_go_for_the_next_one_and_one_that_is_half_made_is_a_fault() -> None:
    door = Door()
    load = load_of(door)
    door.results = SNAPSHOTS
    load.actions.act("u1", "snapshot")
    (deleted, path, _), (method, asked_at, _) = door.asked
    assert (deleted, path.partition("/")[0], method, asked_at) == ("DELETE", "images", "POST", "instances/u1/actions/")
    door.results = [{**SNAPSHOTS[0], "status": "queued"}, SNAPSHOTS[1]]
    assert load.actions.drain() == ["snapshot s0 is queued"]


def test_report_says_how_often_each_was_asked_for_and_accepted() -> None:
    outcome = Outcome("sqlite", actions={"snapshot": (3, 2)})
    assert as_json([outcome], "x")["environments"][0]["actions"] == {"snapshot": [3, 2]}
    assert "actions (asked for, accepted): snapshot 3 2" in as_text([outcome], "x")
