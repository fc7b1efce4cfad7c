"""What shows that an action works: the test that does it, and how long it took on a real guest.

The seconds are those of `python -m bench.actions --undone` on an installation with one private libvirt daemon, whose
guests QEMU emulates: from the request to the state afterwards. The demo image takes a second to shut down when asked,
and shelving has leaving the host in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

_ALL = "e2e/test_actions.py::test_a_real_guest_goes_through_all_actions"
_CONTRACT = "e2e/drivers/test_driver_contract.py::test_"
_REAL = "e2e/drivers/test_real_guests.py::test_"
_SERVICES = "services/servers/"


@dataclass(frozen=True, slots=True)
class Shown:
    """`test` is below `tests/`; `seconds` in words: why there are none."""

    test: str
    seconds: float | str
    ends_in: str = ""
    """In words, where the row of the action does not say it."""
    is_of_busy_machine: bool = False
    """Whether other programs kept the machine's cores busy meanwhile."""


SHOWN_BY: Mapping[str, Shown] = {
    "create": Shown("e2e/test_up.py::test_real_guest_says_hello_survives_a_restart_and_leaves_nothing", 0.65),
    "schedule_again": Shown(
        f"{_SERVICES}test_schedule_again.py::test_instance_in_cell0_becomes_active_once_there_is_a_host",
        0.86,
        ends_in="`building`; the seconds are to `active`",
        is_of_busy_machine=True,
    ),
    "start": Shown(f"{_CONTRACT}stopped_guest_starts_again", 0.28),
    "stop": Shown(f"{_REAL}guest_that_ignores_the_power_button_is_stopped_after_its_grace", 1.67),
    "reboot_soft": Shown(_ALL, 1.71),
    "reboot": Shown(f"{_REAL}resumed_guest_runs_on_where_it_was_and_a_hard_reboot_begins_anew", 2.15),
    "pause": Shown(f"{_CONTRACT}paused_guest_stands_still_and_runs_on", 0.09),
    "unpause": Shown(f"{_CONTRACT}paused_guest_stands_still_and_runs_on", 0.09),
    "suspend": Shown(f"{_CONTRACT}suspended_guest_is_off_and_is_resumed", 1.28),
    "resume": Shown(f"{_REAL}resumed_guest_runs_on_where_it_was_and_a_hard_reboot_begins_anew", 0.57),
    "restore": Shown(
        "e2e/test_ways_back.py::test_deleted_guest_is_off_with_its_disk_and_runs_again_once_it_is_restored", 0.29
    ),
    "rescue": Shown(
        "e2e/drivers/test_ways_back.py::test_rescued_guest_boots_from_the_rescue_disk_and_afterwards_from_its_own", 1.63
    ),
    "unrescue": Shown("e2e/test_ways_back.py::test_rescue_and_back_and_two_rebuilds", 1.97),
    "rebuild": Shown(
        "e2e/drivers/test_ways_back.py::test_rebuilt_guest_boots_from_the_new_image_with_none_of_the_old_disk", 2.0
    ),
    "change_password": Shown(
        "e2e/drivers/test_ways_back.py::test_agent_in_the_guest_sets_the_password_or_says_why_not",
        0.23,
        is_of_busy_machine=True,
    ),
    "trigger_crash_dump": Shown(
        f"{_CONTRACT}guest_that_is_on_is_interrupted_and_one_that_is_off_is_not", 0.22, is_of_busy_machine=True
    ),
    "screenshot": Shown(
        f"{_CONTRACT}picture_of_the_screen_is_a_small_png_and_one_that_is_off_has_none", 0.1, is_of_busy_machine=True
    ),
    "on_crash": Shown("e2e/drivers/test_events.py::test_guest_that_panics_is_told_as_crashed_and_why", 0.01),
    "crash_seen": Shown(
        "services/servers/repair/test_crashes.py::test_a_crash_is_a_problem_until_somebody_has_seen_it",
        0.01,
        is_of_busy_machine=True,
    ),
    "attach_interface": Shown(
        "e2e/drivers/test_interfaces.py::test_guest_sees_the_card_come_and_go", 0.22, is_of_busy_machine=True
    ),
    "detach_interface": Shown(
        "e2e/drivers/test_interfaces.py::test_guest_sees_the_card_come_and_go", 0.63, is_of_busy_machine=True
    ),
    "attach_volume": Shown(
        "e2e/drivers/test_volumes.py::test_linux_sees_a_volume_come_grow_while_it_writes_and_go", 0.08
    ),
    "detach_volume": Shown(
        "e2e/drivers/test_volumes.py::test_linux_sees_a_volume_come_grow_while_it_writes_and_go", 0.1
    ),
    "snapshot": Shown("e2e/drivers/test_snapshots.py::test_new_guest_boots_from_the_copy_of_one_that_runs", 0.64),
    "backup": Shown(_ALL, 0.52),
    "shelve": Shown(_ALL, 1.99),
    "shelve_offload": Shown(_ALL, 0.12, is_of_busy_machine=True),
    "unshelve": Shown(_ALL, 0.63),
    "lock": Shown(_ALL, 0.01),
    "unlock": Shown(_ALL, 0.01),
    "protect": Shown(_ALL, 0.02),
    "unprotect": Shown(_ALL, 0.01),
    "update": Shown(_ALL, 0.02),
    "reset_state": Shown(_ALL, 0.01, ends_in="`active` or `error`, as asked for"),
    "soft_delete": Shown(
        "e2e/test_ways_back.py::test_deleted_guest_is_off_with_its_disk_and_runs_again_once_it_is_restored", 2.06
    ),
    "delete": Shown("e2e/test_up.py::test_real_guest_says_hello_survives_a_restart_and_leaves_nothing", 1.73),
    "force_delete": Shown(_ALL, 1.84, ends_in="`deleted`", is_of_busy_machine=True),
}
