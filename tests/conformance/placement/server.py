"""A Kilonova to test: an empty migrated database, and the web server in front of it in one of the modes.

Two worker processes, so that what one wrote is asked of the other, as in an installation.
"""

import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controlplane.launcher.children import web_command
from tests.conformance.placement.modes import Mode, settings_of
from tests.conformance.placement.suite import ROOT
from tests.fixtures.servers import PostgresServer, Server

WORKERS = 2
THREADS = 2
SQLITE, POSTGRES = "sqlite", "postgres"
DATABASES = (SQLITE, POSTGRES)


@contextmanager
def fresh_database(kind: str) -> Iterator[str]:
    """The DATABASE_URL of a migrated database that lasts as long as the block."""
    if kind == SQLITE:
        with tempfile.TemporaryDirectory(prefix="kilonova-conformance-") as directory:
            yield _migrated(f"sqlite:///{directory}/kilonova.sqlite3")
    else:
        with PostgresServer() as server:
            yield _migrated(server.create_database())


def _migrated(url: str) -> str:
    with tempfile.TemporaryDirectory() as state:
        subprocess.run(
            [sys.executable, ROOT / "manage.py", "migrate", "--verbosity", "0"],
            env={**os.environ, **_environment(url, Path(state))},
            cwd=ROOT,
            check=True,
        )
    return url


def _environment(database_url: str, state: Path) -> dict[str, str]:
    return {
        "DJANGO_SETTINGS_MODULE": "controlplane.settings.dev",
        "KILONOVA_STATE": str(state),
        "DATABASE_URL": database_url,
        "LOG_LEVEL": "WARNING",
        "PYTHONPATH": str(ROOT),
    }


class KilonovaServer(Server):
    """Kilonova's web server on a port of its own; the Placement API is at `url`."""

    name = "conformance"

    def __init__(self, database_url: str, mode: Mode) -> None:
        super().__init__()
        self.environment = _environment(database_url, self.directory / "state") | settings_of(mode)

    def command(self) -> list[str]:
        """Its settings come as words of `env`, because a `Server` is started in the environment of the tests."""
        return [
            "setpriv", "--pdeathsig", "TERM",
            "env", *(f"{name}={value}" for name, value in self.environment.items()),
            *web_command(self.port, processes=WORKERS, threads=THREADS),
        ]  # fmt: skip

    def ping(self) -> None:
        """The version document, which needs no token."""
        urllib.request.urlopen(f"{self.url}/", timeout=60).close()

    @property
    def url(self) -> str:
        """Base URL of the Placement API."""
        return f"http://127.0.0.1:{self.port}/placement"

    def errors(self) -> str:
        """What the server logged, warnings and worse."""
        return self.log.read_text(errors="replace")
