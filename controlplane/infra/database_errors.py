"""What a failure of the database means: it is away, or its disk is full."""

import errno
import sqlite3

from controlplane.kernel.errors import Unavailable
from controlplane.kernel.texts import phrase as _

PG_DISK_FULL = "53100"
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_disk_full(error: BaseException) -> bool:
    """Whether this error, or one that it came of, says that a disk has no room left."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in FULL:
            return True
        if getattr(seen, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            return True
        if getattr(seen, "pgcode", None) == PG_DISK_FULL:
            return True
        seen = seen.__cause__
    return False


def database_unavailable(error: BaseException) -> Unavailable:
    """The refusal for a failure of the database: nothing is wrong with the request."""
    if is_disk_full(error):
        return Unavailable(
            _("The database has no room left on its disk, so nothing can be changed now. Ask an administrator.")
        )
    return Unavailable(_("The database does not answer now. Try again in a moment."))
