"""Looking at the web server from outside: is its port free, is it ready."""

import json
import socket
import urllib.error
import urllib.request

from controlplane.kernel.errors import Conflict

PROBE_TIMEOUT_S = 5


class PortInUse(Conflict):
    """Another program listens on the port."""

    code = "port_in_use"


def require_free_port(port: int) -> None:
    """Raise PortInUse when something listens on loopback at `port`."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise PortInUse(f"port {port} cannot be used: {error.strerror}; choose another with --port") from error


def why_not_ready(port: int) -> list[str]:
    """Empty when `/readyz` answers 200, else its reasons."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=PROBE_TIMEOUT_S):
            return []
    except urllib.error.HTTPError as error:
        return _reasons(error)
    except OSError:
        return ["the web server does not answer yet"]


def _reasons(error: urllib.error.HTTPError) -> list[str]:
    try:
        reasons = json.loads(error.read())["reasons"]
    except (ValueError, KeyError, TypeError):
        return [f"/readyz answers {error.code}"]
    return [str(reason) for reason in reasons] or [f"/readyz answers {error.code}"]
