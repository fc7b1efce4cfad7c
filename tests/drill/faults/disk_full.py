"""The disk of the image cache is full: a real file system of a few MiB where we may mount one."""

import ctypes
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from tests.drill.faults.fault import (
    Evidence,
    Fault,
    agents_with,
    attempts,
    expect,
    failed_builds,
    is_active,
    make,
    runs_on,
    until,
)
from tests.drill.stage import Stage, agents

NO_SPACE = os.strerror(28)
FULL_HOST, OTHER_HOST = "q1", "q2"
SIZE_KIB = 4096
WRITING = "computeagent.drivers.image_cache:writing"
TWO_REAL = tuple(agents(qemu=2, test=0))
LIBC = ctypes.CDLL(None, use_errno=True)


def full_file_system(stage: Stage) -> Evidence:
    """The cache of one host lies on a file system of its own, in which not one byte is left."""
    place = stage.directory / "full"
    place.mkdir()
    if not _mount(place):
        return full_by_injection(stage)
    try:
        with agents_with(stage, "--image-cache", str(place), hosts=[FULL_HOST]):
            _fill(place / "filler")
            evidence = _build_that_finds_no_space(stage, lambda: None)
            expect(not list(place.glob("*.part")), "nothing half-written is left in the cache")
            return {**evidence, "mounted": True}
    finally:
        LIBC.umount2(str(place).encode(), 2)


def full_by_injection(stage: Stage) -> Evidence:
    """The write of the image fails with ENOSPC at the point where it begins."""
    evidence = _build_that_finds_no_space(stage, lambda: stage.arm(WRITING, "enospc"))
    return {**evidence, "mounted": False}


def _build_that_finds_no_space(stage: Stage, break_it: Callable[[], None]) -> Evidence:
    """One instance of an image that no cache has: refused by the full host as its own failure, built on the other."""
    before = failed_builds(stage)
    for image in range(1, 12):
        break_it()
        uid = make(stage, image=image)
        took = until(partial(is_active, stage, uid), 60, f"{uid} is ACTIVE although a disk is full")
        tried = attempts(stage, uid)
        if len(tried) > 1:
            break
    expect(len(tried) == 2, f"a host without space was tried, and one more: {tried}")
    expect(NO_SPACE in tried[0]["reason"], f"the first attempt says why: {tried[0]['reason'][:300]!r}")
    expect("block_device_mapping" in tried[0]["reason"], f"and in which step: {tried[0]['reason'][:300]!r}")
    expect(runs_on(stage, uid) == [tried[1]["host"]], "it runs on the other host, and only there")
    charged = {name: count for name, count in failed_builds(stage).items() if count > before.get(name, 0)}
    expect(charged == {tried[0]["host"]: 1}, f"the full host is charged with it, as its own failure: {charged}")
    return {"active_s": took, "reason": tried[0]["reason"].splitlines()[0], "tried": [one["host"] for one in tried]}


def _fill(filler: Path) -> None:
    """Write until there is no space."""
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1024))


def _mount(place: Path) -> bool:
    options = f"size={SIZE_KIB}k".encode()
    return bool(LIBC.mount(b"tmpfs", str(place).encode(), b"tmpfs", 0, options) == 0)


FAULTS = (
    Fault("disk-full-file-system", full_file_system, agents=TWO_REAL),
    Fault("disk-full-injected", full_by_injection, agents=TWO_REAL),
)
