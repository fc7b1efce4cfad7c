"""An installation that a browser looks at: the real web server, and beside it a program that does what it is told."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from controlplane.launcher.children import web_command
from tests.fixtures.migrated import MigratedDatabases, race_environment
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.fixtures.processes import Processes
from tests.fixtures.servers import free_port
from tests.pages.browser.acts import Acts, acts_on


@dataclass
class Site:
    """A web server on a database of its own, and what happens there beside it."""

    processes: Processes
    env: dict[str, str]
    acts: Acts
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = self.processes.python(
            *web_command(self.port, processes=1, threads=4, grace_s=2)[1:], env=self.env
        )
        process = self.process
        eventually(lambda: "Started server process" in self.processes.log(process), "the web server starts")

    def stop(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGTERM)
        self.process.wait(PATIENCE_S)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def site_of(processes: Processes, migrated: MigratedDatabases, state: Path, **env: str) -> Iterator[Site]:
    """One on a new database in this directory. Its web server waits for `start`."""
    whole = race_environment(migrated.sqlite(state / "site.sqlite3"), state) | env
    with acts_on(whole) as acts:
        yield Site(processes, whole, acts)
