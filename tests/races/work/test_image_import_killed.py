"""A conductor that fetches an image is killed, or stopped: the image comes whole with the next one."""

import os
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from subprocess import run as run_program

import pytest

from tests.fixtures.file_server import file_server
from tests.fixtures.migrated import MigratedDatabases
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.fixtures.processes import ROOT, Processes
from tests.races.work.test_wakeups_between_processes import environment

pytestmark = [pytest.mark.processes, pytest.mark.long]

ASK = """
import django
django.setup()
from servers.images.services.image_import import image_create_by_import
image_create_by_import(caller=None, name="i", disk_format="raw", url="{url}")
"""


def row(database: Path, sql: str) -> tuple[object, ...]:
    with closing(sqlite3.connect(database)) as rows:
        found: tuple[object, ...] = rows.execute(sql).fetchone()
        return found


def test_import_outlives_a_killed_and_a_stopped_conductor(processes: Processes, migrated: MigratedDatabases) -> None:
    database = processes.directory / "kilonova.sqlite3"
    data = os.urandom(5_000_000)
    with file_server() as server:
        env = environment(processes.directory, migrated.sqlite(database)) | {
            "IMAGE_IMPORT_NETWORKS": "127.0.0.0/8",
            "IMAGE_IMPORT_PORTS": str(server.port),
            "LEASE_S": "5",
            "REPORT_INTERVAL_S": "1",
        }
        url = server.drip("/a", every_s=0.2)
        run_program([sys.executable, "-c", ASK.format(url=url)], env={**os.environ, **env}, cwd=ROOT, check=True)

        def begun(attempt: int) -> bool:
            sql = "SELECT w.attempt, t.done_bytes FROM work_work w, servers_imagetask t WHERE w.state = 'running'"
            found = row(database, sql)
            return found is not None and found[0] == attempt and len(server.asked) == attempt

        killed = processes.manage("conductor", "--workers", "1", env=env)
        eventually(lambda: begun(1))
        os.killpg(os.getpgid(killed.pid), signal.SIGKILL)
        killed.wait(PATIENCE_S)

        stopped = processes.manage("conductor", "--workers", "1", env=env)
        eventually(lambda: begun(2))
        stopped.send_signal(signal.SIGTERM)
        assert stopped.wait(PATIENCE_S) == 0
        # Given back, and the attempt not counted: nobody has to wait for the lease.
        assert row(database, "SELECT state, max_attempts FROM work_work") == ("waiting", 6)

        server.file("/a", data)
        processes.manage("conductor", "--workers", "1", env=env)
        eventually(lambda: row(database, "SELECT status FROM servers_image") == ("active",))
        eventually(lambda: row(database, "SELECT state FROM work_work") == ("done",))
    assert row(database, "SELECT size_bytes FROM servers_image") == (len(data),)
    assert row(database, "SELECT state, reason FROM servers_imagetask") == ("success", "")
