"""What a host says it may do to the processes of its guests, by how it is reached."""

from pathlib import Path

import pytest

from computeagent.drivers.libvirt.process_limits import kernel_shapes, may_raise_limits, process_traits

CPU, NICS, MEMORY = "CUSTOM_CPU_LIMITS", "CUSTOM_NIC_LIMITS", "CUSTOM_LOCKED_MEMORY"
NO_TIME = 0.0
ALL_RIGHTS, WITHOUT_LIMITS, NONE = "000001ffffffffff", "000001fffeffffff", "0000000000000000"


def status(directory: Path, rights: str) -> Path:
    path = directory / "status"
    path.write_text(f"Name:\tpython\nCapPrm:\t{ALL_RIGHTS}\nCapEff:\t{rights}\nSeccomp:\t0\n")
    return path


@pytest.mark.parametrize(("rights", "may"), [(ALL_RIGHTS, True), (WITHOUT_LIMITS, False), (NONE, False)])
def test_limits_are_raised_by_whoever_has_the_capability(rights: str, may: bool, tmp_path: Path) -> None:
    assert may_raise_limits(status(tmp_path, rights)) is may


def test_process_that_cannot_be_read_has_no_rights(tmp_path: Path) -> None:
    assert not may_raise_limits(tmp_path / "status")


@pytest.mark.parametrize(("trial", "works"), [(("true",), True), (("false",), False), (("/nowhere/tc",), False)])
def test_limits_of_cards_are_there_where_a_trial_of_them_works(trial: tuple[str, ...], works: bool) -> None:
    assert kernel_shapes(trial) is works


def test_trial_that_did_not_end_in_time_is_made_again(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    trial = ("sh", "-c", f"test -e {ready} || exec sleep 3600")
    assert not kernel_shapes(trial, timeout_s=NO_TIME)
    ready.touch()
    assert kernel_shapes(trial)


@pytest.mark.parametrize("works", [True, False])
def test_answer_of_a_trial_is_kept(works: bool, tmp_path: Path) -> None:
    tried = tmp_path / "tried"
    trial = ("sh", "-c", f"echo x >> {tried}; {str(works).lower()}")
    assert [kernel_shapes(trial), kernel_shapes(trial)] == [works, works]
    assert tried.read_text() == "x\n"


def test_daemon_of_ours_has_no_cgroups_and_does_what_else_it_may(tmp_path: Path) -> None:
    for rights, traits in ((ALL_RIGHTS, {MEMORY, NICS}), (WITHOUT_LIMITS, {NICS})):
        path = status(tmp_path, rights)
        assert process_traits(is_of_machine=False, is_session=False, has_cards=True, status=path) == traits
        assert process_traits(is_of_machine=False, is_session=False, has_cards=False, status=path) == traits - {NICS}


def test_libvirtd_of_the_machine_does_all_and_that_of_a_user_nothing(tmp_path: Path) -> None:
    path = status(tmp_path, ALL_RIGHTS)
    assert process_traits(is_of_machine=True, is_session=False, has_cards=True, status=path) == {CPU, MEMORY, NICS}
    assert process_traits(is_of_machine=True, is_session=True, has_cards=True, status=path) == set()
