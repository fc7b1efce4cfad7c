"""What a failure of the database means: it is away, or its disk is full."""

import errno
import sqlite3

from django.db import InterfaceError, OperationalError

from controlplane.kernel.errors import Unavailable
from controlplane.kernel.texts import phrase as _

PG_DISK_FULL = "53100"
PG_ENDING = frozenset({"57P01", "57P02", "57P03"})
"""States of a server that stops, ended after a crash, or is not up yet."""
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


def is_database_away(error: BaseException) -> bool:
    """Whether it says that the database's server cannot be reached, has ended the connection, or is not up yet."""
    if isinstance(error, InterfaceError):
        return True
    cause = error.__cause__
    if not isinstance(error, OperationalError) or isinstance(cause, sqlite3.Error):
        return False
    code = getattr(cause, "pgcode", None)
    return code is None or code in PG_ENDING


def is_unforeseen(error: Exception) -> bool:
    """Whether a log needs its traceback. Of a service that is away each try would bring the same one, as long as it
    takes.
    """
    return not (isinstance(error, Unavailable) or is_database_away(error))
