"""The console of a guest that is none: what is typed comes back."""

import socket
import threading
from contextlib import suppress


def echoing_console(greeting: str) -> int:
    """A descriptor that greets, and gives back all that is written to it until it is closed."""
    ours, theirs = socket.socketpair()

    def echo() -> None:
        with ours, suppress(OSError):
            ours.sendall(greeting.encode(errors="replace"))
            while data := ours.recv(4096):
                ours.sendall(data)

    threading.Thread(target=echo, name="fake-console", daemon=True).start()
    return theirs.detach()
