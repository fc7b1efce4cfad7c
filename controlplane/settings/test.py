"""For the test suite and the type checker: nothing is read from a developer's state directory."""

import os
import tempfile
from pathlib import Path

from controlplane.kernel.state_parts import StatePart
from controlplane.settings.base import *

SECRET_KEY = "only-for-tests-" + "x" * 50
SECRET_KEY_FALLBACKS = []
STATE_DIR = Path(tempfile.gettempdir()) / "kilonova-test-state"
STATIC_ROOT = STATE_DIR / StatePart.STATIC
STATIC_ROOT.mkdir(parents=True, exist_ok=True)
KILONOVA["IMAGE_DIR"] = STATE_DIR / StatePart.IMAGES
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# One of several test processes has a server of its own.
_SERVER = os.environ.get(f"DATABASE_URL_{os.environ.get('PYTEST_XDIST_WORKER', '').upper()}", DATABASE_URL)
DATABASES = {"default": database(_SERVER if _SERVER.startswith("postgres") else "sqlite:///:memory:")}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A shared in-memory database cannot be in WAL; the rest of the options stays.
    DATABASES["default"]["OPTIONS"].pop("init_command")
    # Tests make more different statements than the 128 that are kept by default, and each is dear for its triggers.
    DATABASES["default"]["OPTIONS"]["cached_statements"] = 1000
    # Said aloud, since test runners know only Django's own backend by its name, and would make files for any other.
    DATABASES["default"]["TEST"] = {"NAME": ":memory:"}
DATABASES["default"]["CONN_MAX_AGE"] = 0
# Who looks whether a webhook wants an event would add a query now and then, where tests count them.
KILONOVA["NOTIFICATION_FORMAT"] = "none"
# A test sees what it has just changed.
KILONOVA["READY_CACHE_S"] = 0.0
# Plug-ins that tests bring along are named by dotted path.
KILONOVA["SCHEDULER_PLUGIN_MODULES"] = ("tests",)
ALLOWED_HOSTS = ["*"]
# Static files are looked up when asked for. Listing them for each test client took a third of the time of API tests.
WHITENOISE_AUTOREFRESH = True
