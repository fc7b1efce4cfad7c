#!/usr/bin/env python
"""Run pytest on PostgreSQL: starts a private cluster, points DATABASE_URL at it, removes it afterwards.

tests/run_postgres.py [pytest arguments]      tests/services and tests/api when no argument names a path
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.fixtures.servers import PostgresServer, ServerMissingError  # noqa: E402

NO_TESTS_COLLECTED = 5


def main(arguments: list[str]) -> int:
    """Exit status of pytest; 2 when PostgreSQL is not installed."""
    named = any(Path(word.partition("::")[0]).exists() for word in arguments)
    paths = [] if named else [path for path in ("tests/services", "tests/api") if (ROOT / path).is_dir()]
    try:
        server = PostgresServer()
    except ServerMissingError as error:
        print(error, file=sys.stderr)
        return 2
    with server:
        env = {**os.environ, "DATABASE_URL": server.url("kilonova")}
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *paths, *arguments]
        return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
