"""A bootable disk from a kernel and an initramfs, made by an ordinary user: nothing is mounted.

An MBR with one active FAT partition, filled by mtools; syslinux as the boot loader; qcow2 around it.
"""

import os
import struct
import subprocess
from pathlib import Path

from controlplane.launcher.demo_image.sources import BOOT_CODE, DemoImageUnavailable

SECTOR_BYTES = 512
FIRST_SECTOR = 2048
MIB = 1024 * 1024
FAT16_LBA = 0x0E
HEADS = 255
SECTORS_PER_TRACK = 63
SPARE_MIB = 2  # boot loader, FAT tables, rounding
TOOL_TIMEOUT_S = 60
BUILD_EPOCH = "1000000000"  # the time stamp of every file, so that equal inputs give equal images


def bootable_qcow2(*, files: dict[str, bytes], target: Path, scratch: Path) -> None:
    """Write `target`: a qcow2 that boots `files["syslinux.cfg"]`. `scratch`: an empty directory."""
    raw = scratch / "disk.raw"
    payload_mib = -(-sum(len(data) for data in files.values()) // MIB)
    size_bytes = (1 + payload_mib + SPARE_MIB) * MIB
    _write_partition_table(raw, size_bytes)
    _fill_partition(raw, size_bytes, files, scratch)
    _run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", str(raw), str(target))


def _write_partition_table(raw: Path, size_bytes: int) -> None:
    sectors = size_bytes // SECTOR_BYTES - FIRST_SECTOR
    entry = struct.pack(
        "<B3sB3sII",
        0x80,
        _chs(FIRST_SECTOR),
        FAT16_LBA,
        _chs(FIRST_SECTOR + sectors - 1),
        FIRST_SECTOR,
        sectors,
    )
    boot_code = BOOT_CODE.read_bytes().ljust(440, b"\0")[:440]
    with raw.open("wb") as disk:
        disk.write(boot_code + b"KLNV\0\0" + entry + b"\0" * 48 + b"\x55\xaa")
        disk.truncate(size_bytes)


def _chs(sector: int) -> bytes:
    """Cylinder, head and sector in the three bytes of a partition entry."""
    cylinder, rest = divmod(sector, HEADS * SECTORS_PER_TRACK)
    head, track_sector = divmod(rest, SECTORS_PER_TRACK)
    return bytes([head, (track_sector + 1) | (cylinder >> 2 & 0xC0), cylinder & 0xFF])


def _fill_partition(raw: Path, size_bytes: int, files: dict[str, bytes], scratch: Path) -> None:
    offset = FIRST_SECTOR * SECTOR_BYTES
    drive = f"{raw}@@{offset}"
    sectors = size_bytes // SECTOR_BYTES - FIRST_SECTOR
    _run(
        "mformat", "-i", drive, "-T", str(sectors), "-h", str(HEADS), "-s", str(SECTORS_PER_TRACK),
        "-H", str(FIRST_SECTOR), "-N", "4b4c4e56", "-v", "KILONOVA", "::",
    )  # fmt: skip
    _run("syslinux", "--install", "--offset", str(offset), str(raw))
    for name, data in files.items():
        source = scratch / name
        source.write_bytes(data)
        os.utime(source, (int(BUILD_EPOCH), int(BUILD_EPOCH)))
        _run("mcopy", "-m", "-i", drive, str(source), f"::/{name}")


def _run(*command: str) -> None:
    env = {
        **os.environ,
        "SOURCE_DATE_EPOCH": BUILD_EPOCH,
        "MTOOLS_SKIP_CHECK": "1",
        "TZ": "UTC",
        "LC_ALL": "C",
    }
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=TOOL_TIMEOUT_S, env=env)
    except subprocess.CalledProcessError as error:
        raise DemoImageUnavailable(f"{command[0]} failed: {error.stderr.strip()}") from error
    except subprocess.TimeoutExpired as error:
        raise DemoImageUnavailable(f"{command[0]} did not end within {TOOL_TIMEOUT_S} s") from error
