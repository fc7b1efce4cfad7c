"""One HTTP POST to a receiver: no redirects, no proxies, a bounded wait, and never an exception."""

import http.client
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

MOST_READ = 500


@dataclass(frozen=True, slots=True)
class Answer:
    """What a receiver said. `status` None: it could not be reached, and `problem` says why."""

    status: int | None
    problem: str
    beginning: str
    duration_ms: int

    @property
    def is_accepted(self) -> bool:
        """Any 2xx."""
        return self.status is not None and 200 <= self.status < 300


def post(*, url: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> Answer:
    """Send it; a redirect is an answer like any other that is not 2xx, since a signed body goes nowhere else."""
    started = time.monotonic()
    status, problem, beginning = None, "", ""
    try:
        status, beginning = _exchange(url, body, headers, timeout_s)
        if not 200 <= status < 300:
            problem = f"the receiver answered {status}"
    except (OSError, http.client.HTTPException, ssl.SSLError, ValueError) as error:
        problem = f"{type(error).__name__}: {error}"[:500]
    return Answer(status, problem, beginning, int((time.monotonic() - started) * 1000))


def _exchange(url: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> tuple[int, str]:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout_s)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request("POST", target, body=body, headers=dict(headers))
        response = connection.getresponse()
        return response.status, _text(response.read1(MOST_READ))
    except TimeoutError as error:
        raise TimeoutError(f"no answer within {timeout_s:g} s") from error
    finally:
        connection.close()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\x00", "")[:MOST_READ]
