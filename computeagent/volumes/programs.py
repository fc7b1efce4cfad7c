"""Programs that work on volumes: run with a limit, ended with the agent and with the lease, secrets by descriptors.

A program is a process of its own on purpose: one that hangs in a dead storage cluster can be killed, a thread cannot.
"""

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO

from computeagent.volumes.away import says_away
from computeagent.volumes.base import VolumeBackendError, VolumeProgress

POLL_S = 0.3
WITH_THE_AGENT = ("setpriv", "--pdeathsig", "KILL", "--")
"""A program that went on after its agent was killed could write to a volume that a guest has by then."""
_PERCENT = re.compile(rb"(\d+(?:\.\d+)?)(?:/100%|% complete)")
_TAIL_BYTES = 2000


class ProgramFailed(VolumeBackendError):
    """A program ended with an error. `status` is its exit status; -1: it did not end in time, or could not be run."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message, is_away=says_away(message))
        self.status = status


def run(command: Sequence[str], *, limit_s: float, given: bytes = b"", descriptors: Sequence[int] = ()) -> str:
    """What it wrote. Raises ProgramFailed with what it said was wrong, also when it takes longer than `limit_s`."""
    try:
        done = subprocess.run(
            [*WITH_THE_AGENT, *command],
            input=given,
            capture_output=True,
            check=False,
            timeout=limit_s,
            pass_fds=descriptors,
            env=environment(),
        )
    except subprocess.TimeoutExpired as error:
        raise ProgramFailed(f"{command[0]} did not end within {limit_s:.0f} s", status=-1) from error
    except OSError as error:
        raise ProgramFailed(f"{command[0]} cannot be run: {error.strerror}", status=-1) from error
    if done.returncode:
        raise program_failed(command, done.returncode, done.stderr)
    return done.stdout.decode(errors="replace")


def run_long(
    command: Sequence[str],
    progress: VolumeProgress,
    *,
    total_bytes: int,
    silent_s: float,
    descriptors: Sequence[int] = (),
) -> None:
    """Run one that tells how far it is, by percentages. It is killed when `progress` raises, and when it comes no
    further for `silent_s`. Raises ProgramFailed.
    """
    with tempfile.TemporaryFile() as said, started(command, output=said, errors=said, descriptors=descriptors) as it:
        percent, changed_at = 0.0, time.monotonic()
        while it.poll() is None:
            found = _PERCENT.findall(_tail(said))
            if found and float(found[-1]) != percent:
                percent, changed_at = float(found[-1]), time.monotonic()
            progress(int(total_bytes * percent / 100), total_bytes)
            if time.monotonic() - changed_at > silent_s:
                raise ProgramFailed(f"{command[0]} came no further for {silent_s:.0f} s", status=-1)
            time.sleep(POLL_S)
        if it.returncode:
            raise program_failed(command, it.returncode, _tail(said))
    progress(total_bytes, total_bytes)


@contextmanager
def started(
    command: Sequence[str],
    *,
    output: IO[bytes] | int = subprocess.DEVNULL,
    errors: IO[bytes] | int = subprocess.DEVNULL,
    given: IO[bytes] | int = subprocess.DEVNULL,
    descriptors: Sequence[int] = (),
) -> Iterator["subprocess.Popen[bytes]"]:
    """The running program, which does not outlive the block. Raises ProgramFailed when there is none such."""
    try:
        process = subprocess.Popen(
            [*WITH_THE_AGENT, *command],
            stdin=given,
            stdout=output,
            stderr=errors,
            pass_fds=descriptors,
            env=environment(),
            umask=0o077,
        )
    except OSError as error:
        raise ProgramFailed(f"{command[0]} cannot be run: {error.strerror}", status=-1) from error
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        process.wait()


def program_failed(command: Sequence[str], status: int, said: bytes) -> ProgramFailed:
    """What it said at last, in one line."""
    lines = [line.strip() for line in said.decode(errors="replace").replace("\r", "\n").splitlines() if line.strip()]
    lines = [line for line in lines if not line.endswith("complete...") and "deprecated" not in line]
    return ProgramFailed(f"{command[0]}: {'; '.join(lines[-2:])[-500:] or f'status {status}'}", status=status)


@contextmanager
def secret_descriptor(secret: bytes) -> Iterator[int]:
    """A descriptor from which one program reads the secret, once: it is in no argument, file or environment."""
    reading, writing = os.pipe()
    try:
        try:
            os.write(writing, secret)  # a passphrase is smaller than what a pipe takes at once
        finally:
            os.close(writing)
        yield reading
    finally:
        os.close(reading)


def environment() -> dict[str, str]:
    """This process's, in English, and without options that somebody's shell has for Ceph's programs."""
    return {name: value for name, value in os.environ.items() if name != "CEPH_ARGS"} | {"LC_ALL": "C"}


def _tail(file: IO[bytes]) -> bytes:
    """The end of what a program that shares this file has written: by position, which is the program's too."""
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), _TAIL_BYTES, max(0, size - _TAIL_BYTES))
