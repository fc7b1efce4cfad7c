"""Which version is the newest, and when a clock is off."""

import pytest

from scheduling.fleet.domain.clock import clock_is_off
from scheduling.fleet.domain.versions import newest_version, version_order


def test_versions_stand_in_their_order() -> None:
    ordered = ["0.9", "0.10.0.dev3", "0.10.0rc1", "0.10.0", "0.10.0.post1", "0.10.1", "1.0", "10.0"]
    shuffled = [*ordered[::2], *ordered[1::2]]
    assert sorted(shuffled, key=version_order) == ordered


def test_newest_of_none_is_none() -> None:
    assert newest_version(["", "2.0", "10.0", "9.9"]) == "10.0"
    assert newest_version([""]) == newest_version([]) == ""


@pytest.mark.parametrize(
    ("skew_s", "error_s", "is_off"),
    [
        (None, None, False),
        (1.9, 0.0, False),
        (2.1, 0.0, True),
        (-2.1, 0.0, True),
        (2.1, 0.2, False),
        (-60.0, 5.0, True),
    ],
)
def test_clock_is_off_when_it_differs_for_certain(skew_s: float | None, error_s: float | None, *, is_off: bool) -> None:
    assert clock_is_off(skew_s, error_s, limit_s=2.0) is is_off
