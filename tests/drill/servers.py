"""The private PostgreSQL and Redis of a stage, which can be killed and started again on the same port."""

import signal
import subprocess
from collections.abc import Iterable
from typing import Protocol

from tests.fixtures.ovn import missing_for_ovn_databases
from tests.fixtures.servers import (
    PostgresServer,
    RedisServer,
    Server,
    ServerFailedError,
    ServerMissingError,
    postgres_programs,
    redis_program,
)


def servers_check(environments: Iterable[str], *, has_ovn: bool = False) -> None:
    """Raise ServerMissingError, which names the package, when an environment needs a server that is not installed.

    Asked before the first one begins: each takes minutes, and what ran before the error would have no report.
    """
    if has_ovn and (missing := missing_for_ovn_databases()):
        raise ServerMissingError(f"OVN is not installed: {missing} (Debian: apt-get install ovn-central)")
    for name in environments:
        if name != "sqlite":
            postgres_programs()
        if name == "redis":
            redis_program()


class Restartable(Protocol):
    """A server that the stage can take away."""

    def kill(self) -> None:
        """End it at once, without a word to its clients, and leave it down."""

    def start_again(self) -> None:
        """Serve again where it served before."""

    def restart(self) -> None:
        """Both."""


class _Restarts(Server):
    def kill(self) -> None:
        """See Restartable. PostgreSQL takes SIGQUIT for that: it recovers from its log at the next start."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT if isinstance(self, PostgresServer) else signal.SIGKILL)
            self.process.wait()

    def start_again(self) -> None:
        """See Restartable."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.directory
            )
        if not self._answers(self.process):
            raise ServerFailedError(f"{self.name} did not start again:\n{self._log_tail()}")

    def restart(self) -> None:
        """See Restartable."""
        self.kill()
        self.start_again()


class RestartablePostgres(_Restarts, PostgresServer):
    """Keeps what was committed: it is with the kernel before the client hears of it, and no machine dies here."""

    def command(self) -> list[str]:
        """The tests' server answers a commit before its log is written, which a server that is killed must not do."""
        return [*super().command(), "-c", "synchronous_commit=on"]


class RestartableRedis(_Restarts, RedisServer):
    """Forgets everything."""
