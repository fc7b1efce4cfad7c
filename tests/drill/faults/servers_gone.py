"""PostgreSQL and Redis go away and come back while requests come in."""

import signal
import time

import redis

from tests.drill.faults.fault import WITH_POSTGRES, Evidence, Fault, expect, load_counts, make, under_load, until
from tests.drill.faults.fault import is_active as is_active_now
from tests.drill.servers import Restartable
from tests.drill.stage import Environment, Stage

BEFORE_S = 2.0
AFTER_S = 3.0
WORKS_AGAIN_S = 20.0


def _during_load(stage: Stage, server: Restartable, *, down_s: float = 0.5) -> Evidence:
    """Kill it under load, have it down for a while, and start it again; then one more instance must be built."""
    before = load_counts(stage)
    with under_load(stage):
        time.sleep(BEFORE_S)
        server.kill()
        time.sleep(down_s)
        server.start_again()
        time.sleep(AFTER_S)
    uid = make(stage)
    took = until(lambda: is_active_now(stage, uid), WORKS_AGAIN_S, f"{uid}, asked for after the restart, is ACTIVE")
    after = load_counts(stage)
    expect(after["accepted_creates"] > before["accepted_creates"] + 1, "the load got through")
    return {"down_s": down_s, "next_instance_active_s": took, **{key: after[key] - before[key] for key in after}}


def postgres_immediate(stage: Stage) -> Evidence:
    """`pg_ctl stop -m immediate`: every connection breaks in mid-transaction, and it recovers from its log."""
    assert stage.database is not None
    return _during_load(stage, stage.database)


def postgres_fast(stage: Stage) -> Evidence:
    """`pg_ctl stop -m fast`: transactions are rolled back, clients are told, a checkpoint is written."""
    assert stage.database is not None
    return _during_load(stage, _Fast(stage))


def postgres_long(stage: Stage) -> Evidence:
    """Away for longer than a lease: agents and conductor sit it out, and no lease is kept beyond its time."""
    assert stage.database is not None
    return _during_load(stage, stage.database, down_s=6.0)


class _Fast:
    """The stage's PostgreSQL, stopped the polite way."""

    def __init__(self, stage: Stage) -> None:
        assert stage.database is not None
        self._server = stage.database

    def kill(self) -> None:
        """SIGINT, and wait."""
        assert self._server.process is not None
        self._server.process.send_signal(signal.SIGINT)
        self._server.process.wait(20)

    def start_again(self) -> None:
        """As after a kill."""
        self._server.start_again()

    def restart(self) -> None:
        """Both."""
        self.kill()
        self.start_again()


def redis_forgets(stage: Stage) -> Evidence:
    """Killed without a copy on disk: every wake-up in it is gone, and only the rows know what is to be done."""
    assert stage.redis is not None
    return _during_load(stage, stage.redis, down_s=2.0)


def redis_holds(stage: Stage) -> Evidence:
    """Saved, killed, started on what it had saved: wake-ups that were answered since then ring a second time."""
    assert stage.redis is not None
    server, before = stage.redis, load_counts(stage)
    with under_load(stage):
        time.sleep(BEFORE_S)
        with redis.Redis.from_url(server.url()) as client:
            client.rpush("kilonova:wakeup:kept", "a copy that is not empty")
            client.save()
        time.sleep(0.3)
        server.restart()
        time.sleep(AFTER_S)
    with redis.Redis.from_url(server.url()) as client:
        expect(client.delete("kilonova:wakeup:kept"), "Redis came back with what it had saved")
    (server.directory / "dump.rdb").unlink()
    uid = make(stage)
    took = until(lambda: is_active_now(stage, uid), WORKS_AGAIN_S, f"{uid}, asked for after the restart, is ACTIVE")
    after = load_counts(stage)
    return {"next_instance_active_s": took, **{key: after[key] - before[key] for key in after}}


FAULTS = (
    Fault("postgres-restart-immediate", postgres_immediate, WITH_POSTGRES),
    Fault("postgres-restart-fast", postgres_fast, WITH_POSTGRES),
    Fault("postgres-away-beyond-lease", postgres_long, WITH_POSTGRES),
    Fault("redis-restart-forgets", redis_forgets, (Environment.REDIS,)),
    Fault("redis-restart-keeps", redis_holds, (Environment.REDIS,)),
)
