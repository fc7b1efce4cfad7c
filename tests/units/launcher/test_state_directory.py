"""What others of the machine may enter of a state directory."""

import ast
import os
import stat
import tempfile
from pathlib import Path

import pytest

from computeagent.drivers.libvirt.embedded import qemu_account
from computeagent.drivers.libvirt.qemu_account import KVM, QEMU_USER, USE_KVM, holds_for_qemu
from controlplane.kernel.state_parts import StatePart
from controlplane.launcher.hypervisors import image_cache_of
from controlplane.launcher.state_directory import MODES, state_directory_prepare
from tests.fixtures.processes import ROOT

HOUSES = "controlplane", "servers", "computeagent/management", "bench"


def modes(path: Path) -> dict[str, str]:
    return {each.name: oct(stat.S_IMODE(each.stat().st_mode)) for each in path.iterdir()}


def test_others_pass_to_the_files_of_guests_and_list_nothing(tmp_path: Path) -> None:
    state = tmp_path / "a" / "state"
    state_directory_prepare(state)
    closed = dict.fromkeys(("images", "logs", "networks", "static"), "0o700")
    assert modes(state) == {**closed, **dict.fromkeys(("agents", "cache", "hv", "volumes"), "0o711")}
    assert stat.S_IMODE(state.stat().st_mode) == 0o711


def test_directory_of_before_is_closed_where_it_was_open_and_passed_where_it_was_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "images").mkdir(mode=0o755)
    (tmp_path / "hv").mkdir(mode=0o700)
    state_directory_prepare(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o711
    assert (modes(tmp_path)["images"], modes(tmp_path)["hv"]) == ("0o700", "0o711")


def test_directory_that_others_may_list_stays_so(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    state_directory_prepare(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives QEMU another user")
def test_root_has_its_guests_run_by_a_user_of_their_own() -> None:
    if not holds_for_qemu(("-d", "/")) or (KVM.exists() and not holds_for_qemu(USE_KVM)):
        pytest.skip(f"the user {QEMU_USER} is missing, or may not use KVM")
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o711)
        state = Path(made) / "state"
        state_directory_prepare(state)
        for directory in (state / "hv" / "1", state / "agents" / "hv-1", image_cache_of(state)):
            directory.mkdir(parents=True)
        assert qemu_account([state / "hv" / "1", state / "agents" / "hv-1", image_cache_of(state)]) == QEMU_USER


def test_each_part_has_a_mode() -> None:
    assert set(MODES) == set(StatePart)


def test_parts_are_named_in_one_place() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for house in HOUSES
        for path in (ROOT / house).rglob("*.py")
        if "state_dir" in (text := path.read_text()).lower()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Div)
        and isinstance(node.right, ast.Constant)
        and node.right.value in set(StatePart)
        and ast.unparse(node.left).lower().endswith("state_dir")
    ]
    assert found == [], "say StatePart"
