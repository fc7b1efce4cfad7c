"""Keep an ordinary user's network namespaces: `unshare -U -r -n -m python holder.py LOCK MARK NAME`.

A program of its own that imports nothing of the project. Started in fresh namespaces it makes a /run of its own, in
which network namespaces can be named (`/run/netns`), and names the one it is in. Started again in namespaces that
outlived a holder it finds all that. Then it holds LOCK until it is killed, by which it is found. MARK is a file in that
/run by which the namespaces of this installation are known, whatever process is in them.
"""

import ctypes
import fcntl
import os
import signal
import sys

MS_BIND, MS_REC, MS_SHARED = 0x1000, 0x4000, 0x100000
RUN, NAMESPACES = "/run", "/run/netns"

libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """mount(2). Raises OSError that names the target."""
    texts = [text.encode() if text else None for text in (source, target, kind)]
    if libc.mount(*texts, ctypes.c_ulong(flags), options.encode() or None):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)


def own_run() -> None:
    """A /run with all that the machine's has, but for its names of network namespaces."""
    machine = os.open(RUN, os.O_PATH | os.O_CLOEXEC)
    mount("kilonova", RUN, "tmpfs", 0, "mode=0755,size=1m")
    for name in os.listdir(f"/proc/self/fd/{machine}"):
        source, target = f"/proc/self/fd/{machine}/{name}", f"{RUN}/{name}"
        try:
            if os.path.islink(source):
                os.symlink(os.readlink(source), target)
            elif os.path.isdir(source) and target != NAMESPACES:
                os.mkdir(target)
                mount(source, target, "", MS_BIND | MS_REC)
        except OSError:
            continue  # closed to this user: nothing of it is needed
    os.close(machine)
    os.mkdir(NAMESPACES)
    mount(NAMESPACES, NAMESPACES, "", MS_BIND)
    mount("none", NAMESPACES, "", MS_SHARED)


def named(namespace: str, path: str) -> None:
    """Let a file stand for a namespace of this process."""
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o444))
    mount(f"/proc/self/ns/{namespace}", path, "", MS_BIND)


def main(lock: str, mark: str, name: str) -> None:
    """Return never."""
    if not os.path.exists(mark):
        own_run()
        named("net", f"{NAMESPACES}/{name}")
        named("user", f"{mark}.user")  # of those in it some have user namespaces of their own
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT, 0o444))
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        signal.pause()


if __name__ == "__main__":
    os.umask(0o022)
    try:
        main(*sys.argv[1:])
    except OSError as error:
        sys.exit(f"{error.strerror}: {error.filename}" if error.filename else str(error.strerror))
