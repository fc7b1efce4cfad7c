"""Writer of the "newc" cpio archive that the kernel unpacks as its first root file system.

Format: Documentation/driver-api/early-userspace/buffer-format.rst of the kernel.
Written here so that building needs no root (device nodes) and the result depends on nothing but its content
(all times and owners are 0).
"""

import gzip
import stat

MAGIC = b"070701"
TRAILER = "TRAILER!!!"


class CpioArchive:
    """Collects entries; `compressed()` is the finished initramfs."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._serial = 0

    def directory(self, path: str) -> None:
        """A directory; parents must have been added before."""
        self._entry(path, stat.S_IFDIR | 0o755)

    def file(self, path: str, data: bytes, *, executable: bool = False) -> None:
        self._entry(path, stat.S_IFREG | (0o755 if executable else 0o644), data)

    def character_device(self, path: str, major: int, minor: int) -> None:
        """A character device node."""
        self._entry(path, stat.S_IFCHR | 0o600, device=(major, minor))

    def compressed(self) -> bytes:
        """The archive, ended and gzipped. Call once."""
        self._entry(TRAILER, 0)
        return gzip.compress(b"".join(self._chunks), compresslevel=9, mtime=0)

    def _entry(self, path: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        name = path.encode() + b"\0"
        self._serial += 1
        fields = (
            self._serial, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0,
        )  # fmt: skip
        header = MAGIC + b"".join(b"%08X" % field for field in fields)
        self._chunks += [_padded(header + name), _padded(data)]


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
