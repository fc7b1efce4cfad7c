"""The grammar of CPU lists and masks (rule 10 of the guest constraint)."""

import pytest

from controlplane.kernel.cpu_list import format_cpus, parse_cpus, parse_mask
from controlplane.kernel.errors import Invalid


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0", {0}),
        ("0-3", {0, 1, 2, 3}),
        ("0-3,^2", {0, 1, 3}),
        ("^1-2,0-3", {0, 3}),
        (" 1 , , 5-6 ", {1, 5, 6}),
        ("", set()),
        ("3-3", {3}),
    ],
)
def test_cpu_list_is_read(text: str, cpus: set[int]) -> None:
    assert parse_cpus(text) == cpus


@pytest.mark.parametrize("text", ["a", "3-1", "1-", "-1", "^", "1-2-3", "0-99999999"])
def test_malformed_cpu_list_names_the_key(text: str) -> None:
    with pytest.raises(Invalid, match="hw:numa_cpus") as caught:
        parse_cpus(text, "hw:numa_cpus.0")
    assert caught.value.field == "hw:numa_cpus.0"


def test_mask_that_begins_with_an_exclusion_means_all_except() -> None:
    assert parse_mask("^0-1", 4, "hw:cpu_realtime_mask") == {2, 3}


def test_mask_without_exclusion_is_a_list() -> None:
    assert parse_mask("0-1", 4, "hw:cpu_realtime_mask") == {0, 1}


def test_cpus_are_written_as_ranges() -> None:
    assert format_cpus({8, 0, 1, 3, 2, 10, 11}) == "0-3,8,10-11"
