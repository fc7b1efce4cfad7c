"""A test that needed a second try is on a list for 30 days at most: its cause is found by then, or it goes."""

import tomllib
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_AGE = timedelta(days=30)


def _listed(text: str) -> list[dict[str, Any]]:
    return list(tomllib.loads(text).get("test", ()))


def _problems(entries: list[dict[str, Any]], today: date) -> list[str]:
    """What is wrong with each of them."""
    found = []
    for entry in entries:
        file, _, name = entry["name"].partition("::")
        path = ROOT / file
        text = path.read_text() if path.is_file() else ""
        if f"def {name.partition('[')[0]}(" not in text:
            found.append(f"{entry['name']}: there is no such test")
        elif "mark.long" not in text:
            found.append(f"{entry['name']}: it is not marked long")
        if not entry.get("reason"):
            found.append(f"{entry['name']}: no reason is given")
        if today - entry["since"] > MAX_AGE:
            found.append(f"{entry['name']}: on the list since {entry['since']}")
    return found


def test_list_is_short_of_age() -> None:
    assert _problems(_listed((ROOT / "tests/flaky.toml").read_text()), datetime.now(UTC).date()) == []


HERE = f"tests/architecture/{Path(__file__).name}"


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ('name = "tests/gone.py::test_it"\nsince = 2026-01-01\nreason = "x"', "there is no such test"),
        (f'name = "{HERE}::test_it_is_not"\nsince = 2026-01-01\nreason = "x"', "there is no such test"),
        (f'name = "{HERE}::test_list_is_short_of_age"\nsince = 2026-01-01', "no reason is given"),
        (
            f'name = "{HERE}::test_list_is_short_of_age"\nsince = 2025-12-01\nreason = "x"',
            "on the list since 2025-12-01",
        ),
    ],
)
def test_entries_are_judged(entry: str, problem: str) -> None:
    (found,) = _problems(_listed(f"[[test]]\n{entry}"), date(2026, 1, 20))
    assert found.endswith(problem)
