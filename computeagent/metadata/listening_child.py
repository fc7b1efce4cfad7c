"""Run by itself inside a network's namespace: opens the listening socket there and hands it to the agent.

    python -I listening_child.py FD PORT

`FD` is a UNIX socket that was inherited. Besides the socket goes the number of the namespace, by which the agent sees
later whether it is still the same. Uses the standard library alone, since it is no part of a package when it runs.
"""

import os
import socket
import sys

BACKLOG = 64


def main(channel: int, port: int) -> None:
    """Open, hand over, and end: the socket lives on in who got it."""
    with socket.socket(fileno=channel) as agent, socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("0.0.0.0", port))  # noqa: S104 - whoever reaches the namespace is a guest of its network
        listening.listen(BACKLOG)
        inode = os.stat("/proc/self/ns/net").st_ino
        socket.send_fds(agent, [str(inode).encode()], [listening.fileno()])


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
