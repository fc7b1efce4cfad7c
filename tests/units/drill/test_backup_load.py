"""What the drill asks for when a backup is to be told by bytes: answered as a control plane with these rows would."""

import random
from typing import Any

import pytest

from tests.drill.backup_load import BackupLoad
from tests.drill.names import VOLUME

VOLUMES = [{"id": each, "name": VOLUME, "state": "in-use"} for each in ("v1", "v2", "v3")]
SNAPSHOTS = [{"id": "s2", "volume": "v2"}, {"id": "s3", "volume": "v3"}]
CREATING, AVAILABLE = (
    {"id": state, "volume_id": volume, "state": state, "has_dependents": False}
    for volume, state in (("v1", "creating"), ("v2", "available"))
)


def asked(backups: list[dict[str, Any]], *, seed: int = 1) -> list[tuple[str, str, Any]]:
    """What is asked to be done, in order: method, path, body."""
    done: list[tuple[str, str, Any]] = []

    def ask(path: str, body: Any, method: str = "POST", **_: Any) -> Any:
        if method != "GET":
            done.append((method, path, body))
            if path == "volume-backups/" and not backups:
                backups.append({**AVAILABLE, "volume_id": body["volume"]})
            return {"id": "new"}
        kind, _, query = path.partition("/?")
        wanted = query.partition("volume=")[2]
        rows = {"volumes": VOLUMES, "volume-backups": backups, "volume-snapshots": SNAPSHOTS}[kind]
        return {"results": [one for one in rows if not wanted or one["volume"] == wanted]}

    BackupLoad(ask, random.Random(seed)).make_by_bytes()
    return done


@pytest.mark.parametrize("seed", range(5))
def test_increment_by_bytes_rests_on_a_backup_whose_snapshot_somebody_deletes_first(seed: int) -> None:
    deleted, (method, path, body) = asked([CREATING, AVAILABLE], seed=seed)
    assert deleted == ("DELETE", "volume-snapshots/s2/", None)
    assert (method, path) == ("POST", "volume-backups/")
    assert (body["volume"], body["incremental"], body["full_after"]) == ("v2", True, 0)


def test_without_any_backup_one_is_made_first_that_it_can_rest_on() -> None:
    posts = [body for method, path, body in asked([]) if (method, path) == ("POST", "volume-backups/")]
    assert [body.get("incremental", False) for body in posts] == [False, True]
    assert len({body["volume"] for body in posts}) == 1


def test_where_nobody_answers_nothing_is_tried_again() -> None:
    paths: list[str] = []

    def dead(path: str, *_: Any, **__: Any) -> None:
        paths.append(path)

    BackupLoad(dead, random.Random(1)).make_by_bytes()
    assert len(paths) == 2
