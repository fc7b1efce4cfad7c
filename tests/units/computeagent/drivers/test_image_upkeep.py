"""Base images go when no guest of the machine uses them and nobody asked for them for long enough."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.image_upkeep import EVERY_S, GONE_S, ImageUpkeep, backing_name

BASE, OTHER = "a" * 64, "b" * 64
DAY_S = 86400.0


def base(cache: Path, name: str, *, days_old: float) -> Path:
    cache.mkdir(exist_ok=True)
    path = cache / name
    path.write_bytes(b"x")
    os.utime(path, times=(time.time() - days_old * DAY_S,) * 2)
    return path


def overlay(instances: Path, backing: Path) -> Path:
    """The first bytes of a qcow2 file, which name what it is made of."""
    directory = instances / "00000000-0000-0000-0000-000000000001"
    directory.mkdir(parents=True)
    name = os.fsencode(backing)
    header = b"QFI\xfb" + (3).to_bytes(4, "big") + (512).to_bytes(8, "big") + len(name).to_bytes(4, "big")
    (directory / "disk").write_bytes(header.ljust(512, b"\0") + name)
    return directory / "disk"


def upkeep(tmp_path: Path, name: str = "one", **changes: float) -> ImageUpkeep:
    instances = tmp_path / name
    instances.mkdir(exist_ok=True)
    made = ImageUpkeep(tmp_path / "base", instances, **{"unused_s": DAY_S, **changes})
    made.register()
    return made


def notes_aged(tmp_path: Path, *, days_old: float) -> None:
    """As if no driver had started or cleaned up for so long."""
    for note in (tmp_path / "base" / "users").iterdir():
        os.utime(note, times=(time.time() - days_old * DAY_S,) * 2)


def test_unused_image_of_two_days_goes_and_a_younger_one_stays(tmp_path: Path) -> None:
    old, young = base(tmp_path / "base", BASE, days_old=2), base(tmp_path / "base", OTHER, days_old=0.5)
    assert upkeep(tmp_path).clean() == [BASE]
    assert (old.exists(), young.exists()) == (False, True)


def test_image_under_a_disk_stays_however_old(tmp_path: Path) -> None:
    overlay(tmp_path / "one", base(tmp_path / "base", BASE, days_old=400))
    assert upkeep(tmp_path).clean() == []


def test_image_of_another_drivers_guest_stays_though_that_driver_is_not_running(tmp_path: Path) -> None:
    overlay(tmp_path / "two", base(tmp_path / "base", BASE, days_old=400))
    upkeep(tmp_path, "two")
    assert upkeep(tmp_path, "one").clean() == []


def test_directory_of_guests_that_is_not_there_just_now_keeps_every_image(tmp_path: Path) -> None:
    path = base(tmp_path / "base", BASE, days_old=400)
    overlay(tmp_path / "two", path)
    upkeep(tmp_path, "two")
    (tmp_path / "two").rename(tmp_path / "unmounted")
    with pytest.raises(DriverError, match="two"):
        upkeep(tmp_path, "one").clean()
    assert path.exists()


def test_driver_that_cleans_up_is_not_taken_for_removed(tmp_path: Path) -> None:
    one = upkeep(tmp_path, "one")
    notes_aged(tmp_path, days_old=GONE_S / DAY_S + 1)
    one.clean()
    (tmp_path / "one").rename(tmp_path / "unmounted")
    with pytest.raises(DriverError, match="one"):
        upkeep(tmp_path, "two").clean()


def test_driver_that_was_removed_long_ago_keeps_no_image(tmp_path: Path) -> None:
    path = base(tmp_path / "base", BASE, days_old=400)
    disk = overlay(tmp_path / "two", path)
    upkeep(tmp_path, "two")
    disk.unlink()
    disk.parent.rmdir()
    disk.parent.parent.rmdir()
    notes_aged(tmp_path, days_old=GONE_S / DAY_S + 1)
    assert upkeep(tmp_path, "one").clean() == [BASE]


def test_disk_that_cannot_be_read_keeps_every_image(tmp_path: Path) -> None:
    path = base(tmp_path / "base", BASE, days_old=400)
    (tmp_path / "one" / "some" / "disk").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        upkeep(tmp_path).clean()
    assert path.exists()


def test_image_that_a_killed_clean_up_put_aside_comes_back(tmp_path: Path) -> None:
    path = base(tmp_path / "base", BASE, days_old=2)
    path.rename(path.with_name(f"{BASE}.going"))
    upkeep(tmp_path)
    assert path.exists()


def test_download_that_was_cut_off_goes_and_other_files_stay(tmp_path: Path) -> None:
    base(tmp_path / "base", f"{BASE}.77.part", days_old=2)  # as releases before named it
    base(tmp_path / "base", f"{BASE}.part", days_old=2)
    base(tmp_path / "base", "virt_type.json", days_old=2)
    assert sorted(upkeep(tmp_path).clean()) == [f"{BASE}.77.part", f"{BASE}.part"]


def test_clean_up_is_due_now_and_then_and_never_at_zero(tmp_path: Path) -> None:
    now = [0.0]
    path = base(tmp_path / "base", BASE, days_old=2)
    never = ImageUpkeep(tmp_path / "base", tmp_path / "one", unused_s=0, clock=lambda: now[0])
    one = ImageUpkeep(tmp_path / "base", tmp_path / "one", unused_s=DAY_S, clock=lambda: now[0])
    one.tick()
    assert path.exists()
    now[0] = 2 * EVERY_S
    never.tick()
    assert path.exists()
    one.tick()
    assert not path.exists()


def test_name_is_read_as_qemu_writes_it(tmp_path: Path) -> None:
    made_of = tmp_path / BASE
    made_of.write_bytes(b"\0" * 2**20)
    command = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(made_of), str(tmp_path / "disk")]
    subprocess.run(command, check=True)
    assert backing_name(tmp_path / "disk") == BASE
    assert backing_name(made_of) == ""
