"""The measuring part of bench.wakeups. Imported once Django is set up."""

import os
import random
import re
import time
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from controlplane.identity.models import User
from controlplane.identity.selectors import caller_for_user
from controlplane.kernel.state_parts import StatePart
from controlplane.launcher import seed
from controlplane.launcher.hypervisors import Hypervisor, hypervisor_enrol
from controlplane.work.models import NamedLease, Work
from controlplane.work.wakeups import waiter_open
from controlplane.work.work import CONDUCTOR_QUEUE, NewWork, work_create
from servers.instances.domain.instance_create import InstanceCreate
from servers.instances.services.act import instance_act
from servers.instances.services.create import instances_create
from servers.models import Instance
from tests.fixtures.patience import eventually

LOG_LINE = re.compile(r"(\w+)\|LOG:  statement: (\S+)(.*)")
AROUND = {"BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "SET"}
SETTLE_S = 8.0
WARM_UP = 5


def prepare(host: str, agent_state: Path) -> None:
    """Tables, a flavor, an image, and an agent that is enrolled."""
    seed.database_migrate()
    seed.admin_prepare(None)
    seed.flavors_prepare()
    seed.placeholder_image_prepare(settings.STATE_DIR / StatePart.CACHE)
    hypervisor_enrol(Hypervisor(host=host, uri="", state_dir=agent_state, image_cache=agent_state))


class Measure:
    """Writes work and reads when it began."""

    def __init__(self, times: int, idle_s: float) -> None:
        self.times, self.idle_s = times, idle_s

    def conductor(self, times: int) -> list[float]:
        """Milliseconds, one for each piece of work of the conductor."""

        def begin() -> None:
            work_create(NewWork(CONDUCTOR_QUEUE, "schedule_and_build", uuid.uuid4(), 60.0))

        return [self._one(begin) for _ in range(times)]

    def _one(self, begin: Callable[[], object]) -> float:
        committed: list[float] = []
        time.sleep(random.uniform(0.05, 0.25))  # at no fixed point of anybody's poll
        with transaction.atomic():
            transaction.on_commit(lambda: committed.append(time.time()))
            begin()
        time.sleep(0.1)
        eventually(lambda: Work.objects.latest("created_at").finished_at, "work ends")
        started = Work.objects.latest("created_at").started_at
        assert started is not None
        return (started.timestamp() - committed[0]) * 1000

    def agent(self) -> list[float]:
        """Milliseconds, one for each reboot."""
        caller = caller_for_user(user=User.objects.get(username="admin"))
        wanted = InstanceCreate(name="vm", flavor="m1.nano", image=seed.PLACEHOLDER_IMAGE.name)
        made = instances_create(caller=caller, wanted=wanted)[0].pk
        eventually(lambda: Instance.objects.filter(pk=made, vm_state="active"), "ACTIVE")

        def begin() -> None:
            instance_act(caller=caller, instance_id=made, action="reboot")

        return [self._one(begin) for _ in range(self.times)]

    def idle(self) -> dict[str, Any]:
        """Statements a second of each process, and the most frequent ones."""
        time.sleep(SETTLE_S)
        log = os.environ["BENCH_LOG"]
        return self._idle_postgres(Path(log)) if log else {"a waiting process": self._idle_waiter()}

    def _idle_postgres(self, log: Path) -> dict[str, Any]:
        with connection.cursor() as cursor:
            for statement in ("ALTER SYSTEM SET log_statement = 'all'", "SELECT pg_reload_conf()"):
                cursor.execute(statement)
        time.sleep(1.0)
        at = log.stat().st_size
        time.sleep(self.idle_s)
        with log.open("rb") as file:
            file.seek(at)
            text = file.read().decode(errors="replace")
        counts: dict[str, Counter[str]] = {"web": Counter(), "conductor": Counter()}
        for who, verb, rest in LOG_LINE.findall(text):
            if verb.rstrip(";") not in AROUND and who in counts:
                counts[who][_short(verb, rest)] += 1
        return {who: self._rates(counted) for who, counted in counts.items()}

    def _idle_waiter(self) -> dict[str, Any]:
        counted: Counter[str] = Counter()

        def count(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
            counted[_short(*sql.split(" ", 1))] += 1
            return execute(sql, params, many, context)

        with connection.execute_wrapper(count):
            end = time.monotonic() + self.idle_s
            waiter = waiter_open("compute.nobody")
            while time.monotonic() < end:
                waiter.wait(5.0)
        return self._rates(counted)

    def _rates(self, counted: Counter[str]) -> dict[str, Any]:
        maximum = {what: round(count / self.idle_s, 2) for what, count in counted.most_common(6)}
        return {"a second": round(counted.total() / self.idle_s, 2), "maximum": maximum}

    def all(self) -> dict[str, Any]:
        """Everything, in the order in which it disturbs least."""
        eventually(lambda: NamedLease.objects.filter(name="conductor-canary"), "the conductor serves")
        self.conductor(WARM_UP)  # connections are opened by the first work
        return {"conductor": self.conductor(self.times), "agent": self.agent(), "idle": self.idle()}


def _short(verb: str, rest: str) -> str:
    table = re.search(r'(?:FROM|INTO|UPDATE) "?(\w+)', f"{verb} {rest}")
    return f"{verb} {table.group(1) if table else rest.strip()[:30]}"
