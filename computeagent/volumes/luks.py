"""Encrypted volumes: LUKS (version 1) as QEMU writes and opens it, made without a passphrase that anybody could read.

The guest's QEMU encrypts; what a pool stores, copies, serves and backs up is LUKS as it stands.
"""

import struct
from pathlib import Path

from computeagent.volumes import qemu_img
from computeagent.volumes.base import VolumeBackendError

HEADER_BYTES = 2_068_480
"""Before a volume's first byte, as QEMU lays out aes-256-xts: room for eight keys. A file is larger by this."""
ITERATIONS_MS = 10
"""How long one trial of a passphrase takes. Passphrases of volumes are random and cannot be tried out; a longer time
would only slow down each start of a guest."""
MEASURE_TRIES = 50
NOT_MEASURED = "Unable to get accurate CPU usage"
"""QEMU measures how fast it hashes by the CPU time of a short loop, which is 0 now and then where that is counted by
ticks. It gives up then, and is asked again.
"""
_MAGIC = b"LUKS\xba\xbe"
# Of LUKS1's header: magic, version, three names, where the data begins (sectors of 512 bytes).
_HEADER = struct.Struct(">6sH32s32s32sI")
_SECTOR_BYTES = 512
SECRET = "volume"  # noqa: S105 - what qemu-img calls it


def luks_create(path: Path, size_bytes: int, passphrase: bytes) -> None:
    """Have an empty encrypted volume of `size_bytes` at `path`. Raises VolumeBackendError."""
    options = f"key-secret={SECRET},iter-time={ITERATIONS_MS}"
    for tries_left in reversed(range(MEASURE_TRIES)):
        try:
            qemu_img.run(
                ["create", "-q", "-f", "luks", "-o", options, str(path), str(size_bytes)],
                readable=(),
                writable=[path],
                max_file_bytes=size_bytes,
                secrets={SECRET: passphrase},
            )
            return
        except VolumeBackendError as error:
            if not tries_left or NOT_MEASURED not in error.message:
                raise


def luks_require(path: Path, passphrase: bytes) -> None:
    """Raises VolumeBackendError unless this passphrase opens the file."""
    qemu_img.run(
        ["map", "--output=json", "--max-length=512", qemu_img.luks_file(path, SECRET)],
        readable=[path],
        writable=(),
        max_file_bytes=0,
        secrets={SECRET: passphrase},
    )


def payload_offset(path: Path) -> int:
    """Where the volume's first byte is in a LUKS file. Raises VolumeBackendError for any other file."""
    with path.open("rb") as file:
        head = file.read(_HEADER.size)
    if len(head) == _HEADER.size:
        magic, version, _, _, _, sectors = _HEADER.unpack(head)
        if magic == _MAGIC and version == 1 and sectors:
            return int(sectors) * _SECTOR_BYTES
    raise VolumeBackendError(f"{path.name} is not LUKS, and the volume is encrypted")
