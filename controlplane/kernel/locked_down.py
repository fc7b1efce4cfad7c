"""Runs one program with nothing but what it needs, for programs that read what strangers uploaded.

    python -I locked_down.py LIMITS -- PROGRAM ARGUMENTS...

LIMITS is a JSON object: bytes of memory, seconds of CPU time, bytes of the largest file it may write, the files and
directories that it may read and those that it may write. Before the program begins, this process gives up, for good:

- more memory, CPU time and disk than that (resource limits), core dumps;
- new privileges (`no_new_privs`: no set-uid program helps);
- the network and every other socket (a seccomp filter refuses socket, socketpair and io_uring; and the system calls
  that would look into or become other processes);
- all files but those named and the system's programs and libraries (Landlock, where the kernel has it).

None of it needs root. It stands alone (standard library only, isolated mode), so that it starts in some 20 ms.
"""

import ctypes
import errno
import json
import os
import platform
import resource
import signal
import struct
import sys

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 22, 38
SECCOMP_MODE_FILTER = 2
SYSTEM_READABLE = (
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/proc/self",
    "/dev/urandom",
)
# From the kernel's headers: numbers of calls, the same on all machines or by machine.
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
IO_URING_SETUP = 425
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# socket, socketpair, ptrace, process_vm_readv, process_vm_writev, unshare, setns, mount, bpf, keyctl
REFUSED = {
    "x86_64": (41, 53, 101, 310, 311, 272, 308, 165, 321, 250, IO_URING_SETUP),
    "aarch64": (198, 199, 117, 270, 271, 97, 268, 40, 280, 219, IO_URING_SETUP),
}
X32_BIT = 0x40000000
# Rights of Landlock's first version: execute, write, read, list, and eleven that make or remove something.
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
ALL_RIGHTS = (1 << 13) - 1
READ_RIGHTS = EXECUTE | READ_FILE | READ_DIR
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE
RULE_PATH_BENEATH = 1

libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), what)
    return result


def limits_set(memory_bytes: int, cpu_s: int, file_bytes: int) -> None:
    """Resource limits; what is beyond them fails or is killed."""
    for what, value in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        resource.setrlimit(what, (value, value))


def sockets_refuse() -> None:
    """A seccomp filter that answers REFUSED calls with EPERM. On a machine whose numbers are not known: an error."""
    machine = platform.machine()
    load, jump_equal, jump_not_below, give = 0x20, 0x15, 0x35, 0x06
    allow, refuse, kill = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
    calls = REFUSED[machine]
    body = [(load, 0, 0, 4), (jump_equal, 1, 0, AUDIT_ARCH[machine]), (give, 0, 0, kill), (load, 0, 0, 0)]
    body.append((jump_not_below, len(calls) + 1, 0, X32_BIT))
    body += [(jump_equal, len(calls) - index, 0, number) for index, number in enumerate(calls)]
    body += [(give, 0, 0, allow), (give, 0, 0, refuse)]
    code = b"".join(struct.pack("HBBI", *line) for line in body)
    buffer = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(body), ctypes.addressof(buffer)))
    _check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0), "seccomp")


def files_restrict(readable: list[str], writable: list[str]) -> bool:
    """Landlock: only these, and what lies below them. False where the kernel has none."""
    attributes = struct.pack("Q", ALL_RIGHTS)
    ruleset = libc.syscall(LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        return False
    everywhere = ((SYSTEM_READABLE, READ_RIGHTS), (("/dev/null",), ALL_RIGHTS))
    for paths, rights in (*everywhere, (readable, READ_RIGHTS), (writable, ALL_RIGHTS)):
        for path in paths:
            _allow(ruleset, path, rights)
    _check(libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock")
    os.close(ruleset)
    return True


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    allowed = rights if os.path.isdir(path) else rights & FILE_RIGHTS
    rule = struct.pack("=Qi", allowed, handle)
    _check(libc.syscall(LANDLOCK_ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, 0), "landlock rule")
    os.close(handle)


def main(arguments: list[str]) -> None:
    """Lock down, then become the program."""
    limits, program = json.loads(arguments[0]), arguments[2:]
    parent = os.getppid()
    _check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL), "pdeathsig")
    if os.getppid() != parent:
        os._exit(1)
    limits_set(limits["memory_bytes"], limits["cpu_s"], limits["file_bytes"])
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    files_restrict(limits["readable"], limits["writable"])
    sockets_refuse()
    os.execve(program[0], program, {"PATH": "/usr/bin:/bin", "LC_ALL": "C"})  # noqa: S606 - that is what it is for


if __name__ == "__main__":
    main(sys.argv[1:])
