import numpy as np
import pytest

from scheduling.domain.trace.compact import (
    column_from_json,
    column_to_json,
    letters_shared,
    letters_unshared,
    names_from_runs,
    names_to_runs,
    places_in_runs,
    rows_from_text,
    rows_to_text,
)


@pytest.mark.parametrize(("rows", "text"), [([], ""), ([3], "3"), ([0, 1, 2, 5], "0-2,5"), ([1, 3, 4], "1,3-4")])
def test_rows_are_ranges(rows: list[int], text: str) -> None:
    assert rows_to_text(np.array(rows, dtype=np.int64)) == text
    assert rows_from_text(text).tolist() == rows


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["a"],
        ["cmp-08", "cmp-09", "cmp-10"],
        ["cmp-8", "cmp-9", "cmp-10"],
        ["cmp-99", "cmp-100"],
        ["n1.lab", "n2.lab", "n2.lab", "other"],
        ["10.0.0.1", "10.0.0.2"],
        ["x" + "1" * 30],
        ["٣", "٤"],
    ],
)
def test_names_come_back(names: list[str]) -> None:
    assert names_from_runs(names_to_runs(names)) == tuple(names)


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("cmp-09.lab", (1,)),
        ("CMP-10.LAB", (2,)),
        ("cmp-9.lab", ()),
        ("cmp-009.lab", ()),
        ("cmp-11.lab", ()),
        ("cmp-٠٩.lab", ()),
        ("cmp-.lab", ()),
        ("twin", (3, 5)),
        ("n7", (4,)),
        ("", ()),
        ("cmp-" + "9" * 9999 + ".lab", ()),
    ],
)
def test_name_is_found_in_its_run(name: str, places: tuple[int, ...]) -> None:
    runs = names_to_runs(["cmp-08.lab", "cmp-09.lab", "cmp-10.lab", "Twin", "n7", "twin"])
    assert places_in_runs(runs, name) == places


def test_numbered_names_fold() -> None:
    assert names_to_runs([f"cmp-{at:03d}.lab" for at in range(500)]) == [["cmp-", "000", ".lab", 500]]


@pytest.mark.parametrize("values", [[1.0, 1.0], [1.0, 2.5, 1.0], [float(at) for at in range(100)], [0.1], []])
def test_columns_come_back(values: list[float]) -> None:
    column = np.array(values, dtype=np.float64)
    assert column_from_json(column_to_json(column), len(values)).tolist() == values


def test_column_that_hardly_changed_is_written_as_differences() -> None:
    before = np.arange(20, dtype=np.float64)
    after = before.copy()
    after[7] = -1.5
    data = column_to_json(after, before)
    assert data == {"changed": {"7": -1.5}}
    assert column_from_json(data, 20, before).tolist() == after.tolist()


def test_columns_that_group_alike_share_their_letters() -> None:
    columns = [{"values": [1, 2], "letters": "01"}, 5, {"values": [8, 9], "letters": "01"}]
    shared = letters_shared(columns)
    assert shared[2] == {"values": [8, 9], "letters_of": 0}
    assert letters_unshared(shared) == columns
