"""Names of hosts with runs of numbers folded."""

import pytest

from scheduling.domain.trace.names import names_from_runs, names_to_runs, places_in_runs


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
