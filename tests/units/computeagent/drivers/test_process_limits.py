"""What a host says it may do to the processes of its guests, by how it is reached."""

from pathlib import Path

import pytest

from computeagent.drivers.libvirt.process_limits import may_raise_limits, process_traits

CPU, MEMORY = "CUSTOM_CPU_LIMITS", "CUSTOM_LOCKED_MEMORY"
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


def test_daemon_of_ours_has_no_cgroups_and_locks_memory_where_it_may(tmp_path: Path) -> None:
    for rights, traits in ((ALL_RIGHTS, {MEMORY}), (WITHOUT_LIMITS, set[str]())):
        said = process_traits(is_of_machine=False, is_session=False, status=status(tmp_path, rights))
        assert said == traits


def test_libvirtd_of_the_machine_does_both_and_that_of_a_user_neither(tmp_path: Path) -> None:
    path = status(tmp_path, ALL_RIGHTS)
    assert process_traits(is_of_machine=True, is_session=False, status=path) == {CPU, MEMORY}
    assert process_traits(is_of_machine=True, is_session=True, status=path) == set()
