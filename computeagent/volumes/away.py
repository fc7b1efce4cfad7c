"""Which errors say that the place of volumes is away: its cluster, server or mount does not answer this host now."""

import errno
import os
import re

_ERRNOS = frozenset(
    {
        errno.ECONNABORTED, errno.ECONNREFUSED, errno.ECONNRESET, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN,
        errno.ENETUNREACH, errno.ENOTCONN, errno.ESTALE, errno.ETIMEDOUT,
    }
)  # fmt: skip
_WORDS = re.compile(
    "|".join([*(re.escape(os.strerror(each)) for each in sorted(_ERRNOS)), "RADOS timed out", "connect to the cluster"])
)
"""As programs say it, which run in English: those of Ceph, qemu-img, QEMU's storage daemon."""


def is_away_error(error: OSError) -> bool:
    """Whether a file of the place cannot be reached, and not for want of room or rights."""
    return error.errno in _ERRNOS


def says_away(words: str) -> bool:
    """Whether a program said so when it failed."""
    return _WORDS.search(words) is not None
