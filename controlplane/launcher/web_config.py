"""Gunicorn's settings that are code. Read by name: `gunicorn --config python:...`."""

from typing import Any

from controlplane.launcher.die_with_parent import die_with_parent


def post_fork(server: Any, worker: Any) -> None:
    """A worker whose master was killed would hold the port for seconds; it dies with it instead."""
    die_with_parent()
