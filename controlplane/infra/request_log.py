"""A line in the log for each request that asks for a change: where the id begins that all later lines bear."""

import logging
import time

from django.http import HttpRequest, HttpResponse

log = logging.getLogger(__name__)
READS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Requests that change nothing are logged at DEBUG: pages poll every second."""
AGENTS = "/agent/"
"""So is what agents say all the time; the work that it is about logs for itself."""


def record_request(request: HttpRequest, response: HttpResponse, *, began: float) -> None:
    """Verb, path and status, and the seconds since `began`, of `time.perf_counter`. No query: it may hold anything."""
    is_quiet = request.method in READS or (request.path.startswith(AGENTS) and response.status_code < 400)
    level = logging.DEBUG if is_quiet else logging.INFO
    if log.isEnabledFor(level):
        took = time.perf_counter() - began
        log.log(
            level, "%s %.200s is answered with %d in %.3f s", request.method, request.path, response.status_code, took
        )
