"""Looking at the web server from outside: is its port free, is it ready."""

import json
import socket
import urllib.error
import urllib.request

from controlplane.kernel.errors import Conflict

PROBE_TIMEOUT_S = 30


class WebPortInUse(Conflict):
    """Another program listens on the port."""

    code = "port_in_use"


def require_free_port(port: int) -> None:
    """Raise WebPortInUse when something listens on loopback at `port`."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise WebPortInUse(f"port {port} cannot be used: {error.strerror}; choose another with --port") from error


def why_not_ready(port: int, *, but_not_for: frozenset[str] = frozenset()) -> list[str]:
    """Empty when `/readyz` answers 200, else its reasons; those of the checks `but_not_for` do not count."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=PROBE_TIMEOUT_S):
            return []
    except urllib.error.HTTPError as error:
        return reasons_in(error.read(), but_not_for=but_not_for, status=error.code)
    except OSError:
        return ["the web server does not answer yet"]


def reasons_in(answer: bytes, *, but_not_for: frozenset[str] = frozenset(), status: int = 503) -> list[str]:
    """The reasons in a body of `/readyz` that says no."""
    try:
        failed = [check for check in json.loads(answer)["checks"] if check["state"] == "failed"]
        reasons = [str(check["reason"]) for check in failed if check["name"] not in but_not_for]
    except (ValueError, KeyError, TypeError):
        return [f"/readyz answers {status}"]
    return reasons if failed else [f"/readyz answers {status}"]
