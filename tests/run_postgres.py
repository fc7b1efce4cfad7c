#!/usr/bin/env python
"""Run pytest on PostgreSQL: starts private clusters, points DATABASE_URL at them, removes them afterwards.

tests/run_postgres.py [pytest arguments]      tests/services and tests/api when no argument names a path
"""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.fixtures.servers import PostgresServer, ServerMissingError  # noqa: E402

NO_TESTS_COLLECTED = 5


def main(arguments: list[str]) -> int:
    """Exit status of pytest; 2 when PostgreSQL is not installed."""
    named = any(Path(word.partition("::")[0]).exists() for word in arguments)
    paths = [] if named else [path for path in ("tests/services", "tests/api") if (ROOT / path).is_dir()]
    # Each test process has a cluster of its own: a transaction in any database of a cluster makes the caches of all
    # others look once more, and tests count queries.
    processes = int(arguments[arguments.index("-n") + 1]) if "-n" in arguments[:-1] else 0
    with ExitStack() as running:
        try:
            servers = [running.enter_context(PostgresServer()) for _ in range(max(processes, 1))]
        except ServerMissingError as error:
            print(error, file=sys.stderr)
            return 2
        urls = [server.url("kilonova") for server in servers]
        env = {**os.environ, "DATABASE_URL": urls[0]}
        env |= {f"DATABASE_URL_GW{number}": url for number, url in enumerate(urls)}
        command = [sys.executable, "-m", "pytest", *paths, *arguments]
        return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
