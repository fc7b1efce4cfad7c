"""What the ledger stores: JSON under zlib or, where that decides whether it fits, xz; named by its SHA-256."""

import hashlib
import json
import lzma
import zlib
from typing import Any, ClassVar

from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _

# A blob is a few ten kB: a small dictionary keeps the compressor from touching megabytes for it.
_XZ = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 18}]
_XZ_MAGIC = b"\xfd7zXZ"
_XZ_SAVES = 4 / 3


class OtherVersion(Conflict, ValueError):
    """What is stored was written by another version of Kilonova: this one cannot read it."""

    code: ClassVar[str] = "other_version"
    retryable: ClassVar[bool] = False


def json_bytes(value: Any) -> bytes:
    """Compact JSON. Equal values give equal bytes."""
    return json.dumps(value, separators=(",", ":")).encode()


def digest_of(content: bytes) -> str:
    """The name of a content: 40 hexadecimal digits of its SHA-256."""
    return hashlib.sha256(content).hexdigest()[:40]


def compressed(content: bytes, *, aim: int | None = None) -> bytes:
    """By zlib; by xz where zlib's is above `aim` bytes, but not by so much that xz would not help.

    xz saves 4 to 25 % of a decision for 4 to 10 times the CPU of zlib: worth it where a trace would be cut otherwise,
    as one about 10,000 hosts with mixed loads and ten instances (9.3 kB, 7.0 kB).
    """
    quick = zlib.compress(content, 6)
    if aim is None or not aim < len(quick) < aim * _XZ_SAVES:
        return quick
    return min(quick, lzma.compress(content, check=lzma.CHECK_NONE, filters=_XZ), key=len)


def uncompressed(blob: bytes) -> bytes:
    """The inverse of `compressed`. Raises OtherVersion for anything else."""
    try:
        return lzma.decompress(blob) if blob.startswith(_XZ_MAGIC) else zlib.decompress(blob)
    except (zlib.error, lzma.LZMAError) as error:
        raise OtherVersion(_("This is not a blob of the ledger of this version.")) from error
