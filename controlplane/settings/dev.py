"""A laptop: one state directory, SQLite, a secret key made on first use. What `manage.py` uses by default."""

import os
import secrets

from controlplane.settings.base import *


def _kept_secret() -> str:
    """The key of this state directory, made once; two processes that race agree on the first one's."""
    path = STATE_DIR / "secret-key"
    try:
        STATE_DIR.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text()
    with os.fdopen(handle, "w") as file:
        file.write(key := secrets.token_urlsafe(64))
    return key


SECRET_KEY = SECRET_KEY or _kept_secret()
STATIC_ROOT = STATE_DIR / "static"
STATIC_ROOT.mkdir(parents=True, exist_ok=True)
ALLOWED_HOSTS = [*ALLOWED_HOSTS, "testserver"]
