from datetime import UTC, datetime, timedelta

from scheduling.fleet.domain.host_switches import HostSwitch, SwitchKind, switches_ended

START = datetime(2026, 1, 1, tzinfo=UTC)


def ended(*kinds: SwitchKind) -> list[HostSwitch]:
    """One an hour, the newest first."""
    made = [HostSwitch(START + timedelta(hours=at), kind, "root", "page") for at, kind in enumerate(kinds)]
    return switches_ended(reversed(made))


def test_what_is_taken_back_lasted_until_then() -> None:
    found = ended(SwitchKind.DISABLED, SwitchKind.FORCED_DOWN, SwitchKind.ENABLED)

    assert [(one.kind, one.lasted_s, one.holds) for one in found] == [
        (SwitchKind.ENABLED, None, False),
        (SwitchKind.FORCED_DOWN, None, True),
        (SwitchKind.DISABLED, 7200.0, False),
    ]


def test_a_new_reason_ends_the_one_before() -> None:
    found = ended(SwitchKind.DISABLED, SwitchKind.DISABLED)

    assert [one.lasted_s for one in found] == [None, 3600.0]
    assert [one.holds for one in found] == [True, False]


def test_two_spells_are_two() -> None:
    found = ended(SwitchKind.DISABLED, SwitchKind.ENABLED, SwitchKind.DISABLED, SwitchKind.ENABLED)

    assert [one.lasted_s for one in found] == [None, 3600.0, None, 3600.0]
