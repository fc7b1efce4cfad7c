"""A laptop: one state directory, SQLite, a secret key made on first use. What `manage.py` uses by default."""

import fcntl
import os
import secrets
from pathlib import Path

from controlplane.kernel.state_parts import StatePart
from controlplane.settings.base import *

MIN_SECRET_CHARS = 50


def _stored_secret() -> str:
    """The key of this state directory, made once; two processes that race agree on the first one's.

    A start that was cut off while it wrote leaves no key or a part of one: the next start makes it.
    """
    handle = os.open(STATE_DIR / "secret-key", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        key = file.read()
        if len(key) < MIN_SECRET_CHARS:
            file.seek(0)
            file.truncate()
            file.write(key := secrets.token_urlsafe(64))
            file.flush()
            os.fsync(file.fileno())
        return key


def _own_database(name: str) -> None:
    """SQLite makes its file readable for everybody on the machine; this one holds passwords' hashes and tokens."""
    path = Path(name)
    if not path.parent.is_dir():
        return
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    for file in (path, *(Path(f"{path}-{journal}") for journal in ("wal", "shm"))):
        if file.exists() and file.stat().st_uid == os.geteuid():
            file.chmod(file.stat().st_mode & 0o770)


STATE_DIR.mkdir(parents=True, exist_ok=True, mode=0o700)
SECRET_KEY = SECRET_KEY or _stored_secret()
if DATABASES["default"]["ENGINE"].endswith("sqlite3") and str(DATABASES["default"]["NAME"]).startswith("/"):
    _own_database(str(DATABASES["default"]["NAME"]))
STATIC_ROOT = STATE_DIR / StatePart.STATIC
STATIC_ROOT.mkdir(parents=True, exist_ok=True)
ALLOWED_HOSTS = [*ALLOWED_HOSTS, "testserver"]
