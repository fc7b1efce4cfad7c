"""Sockets that listen in another network namespace: a child opens one there and hands it over.

So the agent itself enters no namespace, and a process for each network is not needed.
"""

import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

CHILD = Path(__file__).with_name("listening_child.py")
PORT = 80
OPEN_S = 10.0


class ListenError(Exception):
    """The socket could not be opened; the message is for operators."""


@dataclass(frozen=True, slots=True)
class Listening:
    """A socket that listens, and the number of the namespace that it does so in."""

    socket: socket.socket
    namespace: int


def listening_open(prefix: tuple[str, ...], *, port: int = PORT) -> Listening:
    """Listen where a command behind `prefix` runs. Raises ListenError."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            _run(prefix, [sys.executable, "-I", str(CHILD), str(theirs.fileno()), str(port)], theirs.fileno())
        ours.settimeout(OPEN_S)
        number, handed, _, _ = socket.recv_fds(ours, 64, 1)
    if len(handed) != 1 or not number.isdigit():
        raise ListenError("the child that opens the socket of the metadata service gave none")
    listening = socket.socket(fileno=handed[0])
    listening.setblocking(False)
    return Listening(listening, int(number))


def namespace_of(prefix: tuple[str, ...]) -> int:
    """The number of the network namespace behind `prefix`. Raises ListenError: it is not there."""
    said = _run(prefix, ["stat", "--dereference", "--format=%i", "/proc/self/ns/net"])
    return int(said)


def _run(prefix: tuple[str, ...], command: list[str], *inherited: int) -> str:
    try:
        done = subprocess.run(
            [*prefix, *command], pass_fds=inherited, capture_output=True, text=True, timeout=OPEN_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ListenError(f"{' '.join([*prefix, *command[:1]])}: {error}") from error
    if done.returncode:
        raise ListenError(f"{' '.join([*prefix, *command[:1]])}: {done.stderr.strip()[-300:]}")
    return done.stdout
