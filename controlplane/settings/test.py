"""For the test suite and the type checker: nothing is read from a developer's state directory."""

import tempfile
from pathlib import Path

from controlplane.settings.base import *

SECRET_KEY = "only-for-tests-" + "x" * 50
STATE_DIR = Path(tempfile.gettempdir()) / "kilonova-test-state"
STATIC_ROOT = STATE_DIR / "static"
STATIC_ROOT.mkdir(parents=True, exist_ok=True)
KILONOVA["IMAGE_DIR"] = STATE_DIR / "images"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DATABASES = {"default": database(DATABASE_URL if DATABASE_URL.startswith("postgres") else "sqlite:///:memory:")}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A shared in-memory database cannot be in WAL; the rest of the options stays.
    DATABASES["default"]["OPTIONS"].pop("init_command")
DATABASES["default"]["CONN_MAX_AGE"] = 0
# Who looks whether a webhook wants an event would add a query now and then, where tests count them.
KILONOVA["NOTIFICATION_FORMAT"] = "none"
# A test sees what it has just changed.
KILONOVA["READY_CACHE_S"] = 0.0
# Plug-ins that tests bring along are named by dotted path.
KILONOVA["SCHEDULER_PLUGIN_MODULES"] = ("tests",)
ALLOWED_HOSTS = ["*"]
