"""The decision ledger: bytes and milliseconds for each decision, and how fast ten thousand of them are searched.

    python -m bench.decision_ledger [--hosts 1000 5000 10000] [--decisions 10000]
    python -m bench.decision_ledger --forms [--hosts 50 1000 10000]

Uses the database of DATABASE_URL as a test database: it is made, filled and dropped. With `--forms` no database is
asked: it prints what the ledger's forms take against plain JSON, see `bench.decision_ledger_forms`.
"""

import argparse
import os
import random
import statistics
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import django
from django.db import connection
from django.test.utils import setup_test_environment

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.test")
django.setup()

# Apps are ready only now.
from rest_framework.test import APIClient  # noqa: E402

from bench.decision_ledger_forms import print_forms  # noqa: E402
from bench.scheduler_engine import fleet, request  # noqa: E402
from controlplane.identity.domain import Caller, Role  # noqa: E402
from controlplane.identity.models import User  # noqa: E402
from placement.candidates import ProviderFacts, columns_of  # noqa: E402
from placement.domain import InventoryUsage, capacity_of  # noqa: E402
from scheduling.decisions.ledger.fleet_columns import fleet_seen  # noqa: E402
from scheduling.decisions.selectors.replay import replay_of  # noqa: E402
from scheduling.decisions.services.record import DecisionDraft, decision_record, now_us  # noqa: E402
from scheduling.decisions.services.snapshots import host_names_row  # noqa: E402
from scheduling.domain.policy import DEFAULT_POLICY  # noqa: E402
from scheduling.domain.request.candidate_query import candidate_query  # noqa: E402
from scheduling.domain.request.resources import resource_request  # noqa: E402
from scheduling.domain.request.schedule_request import ScheduleRequest  # noqa: E402
from scheduling.domain.schedule_call import ScheduleCall  # noqa: E402
from scheduling.engine import AggregateRow, HostRow, candidate_set, host_table_from_rows, schedule  # noqa: E402
from scheduling.models import (  # noqa: E402
    DecisionInstance,
    DecisionReason,
    DecisionRefusedHosts,
    FleetSnapshot,
    HostNames,
    SchedulingDecision,
)

PROJECT = uuid.UUID(int=1)
KINDS = ("like", "many aggregates", "mixed")
NAME_TABLES = 200
"""As many lists of hosts as a fleet has had that grew by one host at a time."""


class World:
    """A fleet whose hosts fill up, decision by decision. `kind`: one of KINDS."""

    def __init__(self, count: int, kind: str) -> None:
        self.rng = random.Random(3)
        self.rows, self.aggregates = fleet(count)
        self.at = {row.host: at for at, row in enumerate(self.rows)}
        self.facts = [self._facts(row, mixed=kind == "mixed") for row in self.rows]
        if kind == "many aggregates":
            self.aggregates += [self._aggregate(at, count // 10) for at in range(100)]

    def _facts(self, row: HostRow, *, mixed: bool) -> ProviderFacts:
        uuid_ = uuid.UUID(int=self.rng.getrandbits(128))
        usages = {}
        for name, one in row.inventories.items():
            room = capacity_of(total=one.total, reserved=one.reserved, allocation_ratio=one.allocation_ratio)
            used = self.rng.randint(0, room // 2) if mixed else one.used
            usages[name] = InventoryUsage(one.total, one.reserved, one.allocation_ratio, used, room, 1, one.total, 1)
        return ProviderFacts(uuid_, uuid_, usages, row.traits)

    def _aggregate(self, at: int, size: int) -> AggregateRow:
        hosts = frozenset(row.host for row in self.rng.sample(self.rows, size))
        numbers = {"cpu_weight_multiplier": str(1 + at % 7 / 2), "ram_weight_multiplier": str(1 + at % 3)}
        return AggregateRow(f"many-{at}", f"many-{at}", hosts, numbers)

    def decide(self, asked: ScheduleRequest) -> SchedulingDecision:
        """One run and its record; the chosen host's room is taken before the next."""
        rows = [
            replace(row, uuid=str(facts.uuid), cell_uuid=str(PROJECT), inventories=facts.inventories)
            for row, facts in zip(self.rows, self.facts, strict=True)
        ]
        table = host_table_from_rows(rows, self.aggregates)
        columns = columns_of(self.facts)
        query = candidate_query(asked, resource_request(asked))
        candidates = candidate_set(columns, query, {facts.uuid: str(facts.uuid) for facts in self.facts})
        trace = schedule(ScheduleCall(table, asked, DEFAULT_POLICY, 1, candidates=candidates, stopwatch=now_us))
        draft = DecisionDraft(request=asked, policy=DEFAULT_POLICY, seed=1, subject=PROJECT)
        draft.seen = fleet_seen(table, candidates)
        started = time.perf_counter()
        decision = decision_record(draft=draft, trace=trace, duration_us=1)
        self.spent = (time.perf_counter() - started) * 1000
        for each in trace.selections:
            self._take(each.selected.host)
        return decision

    def _take(self, host: str) -> None:
        at = self.at[host]
        facts = self.facts[at]
        used = {name: replace(one, used=one.used + 1) for name, one in facts.inventories.items()}
        self.facts[at] = replace(facts, inventories=used, rendered={})


def asked_for() -> ScheduleRequest:
    """One instance of the bench's flavor."""
    return replace(request(), project_id=str(PROJECT), instance_uuids=(str(uuid.uuid4()),))


def sizes(counts: list[int], runs: int) -> None:
    """What a decision takes, by fleet."""
    print(
        f"{'hosts':>7}  {'fleet':<16} {'trace B':>8} {'snapshot B':>11} {'index B':>8} {'save ms':>8} {'replay ms':>9}"
    )
    for count in counts:
        for kind in KINDS:
            _empty()
            world = World(count, kind)
            first = world.decide(asked_for())
            base = sum(FleetSnapshot.objects.values_list("size", flat=True))
            decisions, spent = [], []
            for _ in range(runs):
                decisions.append(world.decide(asked_for()))
                spent.append(world.spent)
            added = (sum(FleetSnapshot.objects.values_list("size", flat=True)) - base) / runs
            index = sum(len(bytes(bits)) for bits in DecisionRefusedHosts.objects.values_list("bits", flat=True)) / runs
            trace = max(decision.stored_bytes for decision in (first, *decisions))
            _, replay = measured(lambda decisions=decisions: [replay_of(decision=each) for each in decisions[:5]], 1)
            print(
                f"{count:>7}  {kind:<16} {trace:>8} {added:>11.0f} {index:>8.0f} {statistics.median(spent):>8.2f} "
                f"{replay / 5:>9.1f}   (first fleet {base} B)"
            )


def fill(count: int) -> str:
    """`count` decisions about 5,000 hosts, the rows of real ones with other keys. Gives a host that some refused."""
    _empty()
    world = World(5000, "like")
    asked = asked_for()
    template = [world.decide(asked), world.decide(replace(asked, availability_zone="az1"))]
    reasons = [list(DecisionReason.objects.filter(decision=one)) for one in template]
    bits = [DecisionRefusedHosts.objects.filter(decision=one).first() for one in template]
    names = tuple(row.host for row in world.rows)
    tables = [
        host_names_row(hosts=names[: at - NAME_TABLES], nodes=names[: at - NAME_TABLES]) for at in range(NAME_TABLES)
    ]
    HostNames.objects.bulk_create(tables)
    name_tables = [one.digest for one in tables]
    for start in range(0, count, 1000):
        made = [_copy(template[at % 2], at, name_tables) for at in range(start, min(start + 1000, count))]
        SchedulingDecision.objects.bulk_create(made)
        DecisionInstance.objects.bulk_create(
            DecisionInstance(decision=one, position=0, instance_uuid=uuid.uuid4(), host=f"cmp-{at % 5000:05d}")
            for at, one in enumerate(made, start)
        )
        DecisionReason.objects.bulk_create(
            DecisionReason(decision=one, stage=row.stage, reason=row.reason, hosts=row.hosts)
            for at, one in enumerate(made, start)
            for row in reasons[at % 2]
        )
        DecisionRefusedHosts.objects.bulk_create(
            DecisionRefusedHosts(decision=one, bits=bytes(found.bits))
            for at, one in enumerate(made, start)
            if (found := bits[at % 2]) is not None
        )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return "cmp-00000"


def _copy(one: SchedulingDecision, at: int, name_tables: list[str]) -> SchedulingDecision:
    values: dict[str, Any] = {field.attname: getattr(one, field.attname) for field in one._meta.concrete_fields}
    outcome = ("selected", "no_valid_host")[at % 10 == 0]
    own = {
        "id": uuid.uuid4(),
        "outcome": outcome,
        "policy_version": f"v{at % 20}",
        "host_names": name_tables[at % NAME_TABLES],
    }
    return SchedulingDecision(**{**values, **own})


def searches(count: int) -> None:
    """How long the API takes for each query, page of 50 and count included."""
    host = fill(count)
    instance = DecisionInstance.objects.order_by("pk")[count // 2]
    client = APIClient()
    caller = Caller(uuid.uuid4(), "admin", PROJECT, "ops", frozenset({Role.ADMIN}))
    client.force_authenticate(user=User(username="admin"), token=caller)  # type: ignore[arg-type]
    print(f"\n{SchedulingDecision.objects.count()} decisions about 5000 hosts")
    print(f"{'query':<58} {'found':>6} {'median ms':>9} {'worst ms':>9}")
    queries: tuple[dict[str, str], ...] = (
        {},
        {"instance": str(instance.instance_uuid)},
        {"host": "cmp-00042"},
        {"refused_host": host},
        {"refused_host": host, "reason": "wrong_zone", "outcome": "no_valid_host"},
        {"reason": "wrong_zone"},
        {"stage": "request_filters"},
        {"outcome": "no_valid_host"},
        {"policy_version": "v7"},
        {"project_id": str(PROJECT), "created_after": "2020-01-01T00:00:00Z"},
        {"reason": "wrong_zone", "page": str(count // 100)},
    )
    for query in queries:
        found = client.get("/api/decisions/", query).json()["count"]
        median, worst = measured(lambda query=query: client.get("/api/decisions/", query), 7)
        text = "&".join(f"{name}={value}" for name, value in query.items()) or "(all)"
        print(f"{text[:58]:<58} {found:>6} {median:>9.1f} {worst:>9.1f}")


def measured(call: Callable[[], object], runs: int) -> tuple[float, float]:
    """Median and worst, in milliseconds."""
    spent = []
    for _ in range(runs):
        started = time.perf_counter()
        call()
        spent.append((time.perf_counter() - started) * 1000)
    return statistics.median(spent), max(spent)


def _empty() -> None:
    for model in (SchedulingDecision, FleetSnapshot, HostNames):
        model.objects.all().delete()


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--forms", action="store_true", help="the ledger's forms against plain JSON; no database")
    parser.add_argument("--hosts", type=int, nargs="+")
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--decisions", type=int, default=10000)
    options = parser.parse_args()
    if options.forms:
        print_forms(options.hosts or [50, 1000, 10000], min(options.runs, 15))
        return
    setup_test_environment()
    name = connection.creation.create_test_db(verbosity=0, autoclobber=True)
    print(f"{connection.vendor}")
    try:
        sizes(options.hosts or [1000, 5000, 10000], options.runs)
        searches(options.decisions)
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)


if __name__ == "__main__":
    main()
