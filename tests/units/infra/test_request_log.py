"""The line of a request in the log: who changes something is told, who reads is not, and no query is."""

import logging
import time

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from controlplane.infra.request_log import record_request


def findings(caplog: pytest.LogCaptureFixture, method: str, level: int = logging.INFO) -> list[str]:
    with caplog.at_level(level, logger="controlplane.infra.request_log"):
        request = RequestFactory().generic(method, "/api/instances/?secret=1")
        record_request(request, HttpResponse(status=202), began=time.perf_counter())
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_change_is_told_without_its_query(method: str, caplog: pytest.LogCaptureFixture) -> None:
    (line,) = findings(caplog, method)
    assert line.startswith(f"{method} /api/instances/ is answered with 202 in 0.0")


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_reading_is_told_at_debug_only(method: str, caplog: pytest.LogCaptureFixture) -> None:
    assert findings(caplog, method) == []
    assert len(findings(caplog, method, logging.DEBUG)) == 1
