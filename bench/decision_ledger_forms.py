"""What the ledger's form of a decision and of a fleet earns against plain JSON under three compressors.

    python -m bench.decision_ledger --forms [--hosts 50 1000 10000] [--runs 15]

Plain JSON is the straightforward form: rows, columns and names as JSON lists, all that the trace holds written out.
`plain` has the names of all hosts in each decision; `no names` leaves them out, as the ledger does. Milliseconds are
medians of the CPU time (`time.process_time`) of writing, compressing included, and of reading until the values are
there; whole traces, never cut. zstd is measured where the package `zstandard` is there.
"""

import json
import lzma
import random
import statistics
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np

from bench.scheduler_engine import fleet, providers, request
from placement.candidates import FleetColumns
from scheduling.decisions.ledger.chain import SnapshotChain, columns_of_chain
from scheduling.decisions.ledger.content import compressed, json_bytes, uncompressed
from scheduling.decisions.ledger.fleet_columns import Columns, table_to_columns
from scheduling.decisions.ledger.record import DecisionRecord, record_of_blob, record_to_blob
from scheduling.decisions.ledger.trace_content import names_of
from scheduling.decisions.ledger.values import plain
from scheduling.domain.policy import DEFAULT_POLICY, policy_to_dict
from scheduling.domain.request.candidate_query import candidate_query
from scheduling.domain.request.resources import resource_request
from scheduling.domain.request.schedule_request import ScheduleRequest, request_to_dict
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.names import names_from_runs
from scheduling.domain.trace.trace import Round, Trace
from scheduling.domain.trace.weighing import Ranking
from scheduling.engine import (
    AggregateRow,
    HostRow,
    HostTable,
    InventoryRow,
    candidate_set,
    host_table_from_rows,
    schedule,
)

try:
    import zstandard
except ImportError:  # only this table asks for it
    zstandard = None  # type: ignore[assignment,unused-ignore]

ONE_BLOB = 1 << 30
"""A bound that no decision reaches: it is written whole."""
BOUND, SNAPSHOT_BOUND = 8192, 2048
KINDS = ("homogeneous", "mixed", "all different")
CASES = {
    "chosen": request(),
    "no valid host": request(resources__VCPU="300"),
    "batch of ten": request(10),
}
Codec = tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]


def codecs() -> dict[str, Codec]:
    """The compressors, as a store would use them."""
    found: dict[str, Codec] = {"zlib": (lambda data: zlib.compress(data, 6), zlib.decompress)}
    found["lzma"] = (lambda data: lzma.compress(data, preset=6), lzma.decompress)
    if zstandard is not None:
        writer, reader = zstandard.ZstdCompressor(level=3), zstandard.ZstdDecompressor()
        best = zstandard.ZstdCompressor(level=19)
        found["zstd 3"] = (writer.compress, reader.decompress)
        found["zstd 19"] = (best.compress, reader.decompress)
    return found


def fleet_of(count: int, kind: str) -> tuple[list[HostRow], list[AggregateRow]]:
    """`homogeneous`: empty hosts of one kind. `mixed`: what ten instances leave. Else no two with the same room."""
    rows, aggregates = fleet(count)
    if kind == "homogeneous":
        rows = [replace(_using(row, lambda _: 0), instances=frozenset(), traits=rows[0].traits) for row in rows]
    if kind == "all different":
        rng = random.Random(2)
        rows = [_using(row, lambda one: rng.randint(0, one.total // 2)) for row in rows]
    return rows, aggregates


def _using(row: HostRow, used: Callable[[Any], int]) -> HostRow:
    inventories = {
        name: InventoryRow(one.total, used(one), one.reserved, one.allocation_ratio)
        for name, one in row.inventories.items()
    }
    return replace(row, inventories=inventories)


def world(count: int, kind: str) -> tuple[HostTable, FleetColumns]:
    """The table and Placement's providers of a fleet."""
    rows, aggregates = fleet_of(count, kind)
    return host_table_from_rows(rows, aggregates), providers(rows, has_devices=False)


def decided(table: HostTable, columns: FleetColumns, asked: ScheduleRequest) -> Trace:
    """One run, with Placement's candidates."""
    nodes = {UUID(text): text for text in table.uuids}
    found = candidate_set(columns, candidate_query(asked, resource_request(asked)), nodes)
    return schedule(ScheduleCall(table, asked, DEFAULT_POLICY, 1, candidates=found))


def plain_trace(trace: Trace) -> dict[str, Any]:
    """All that a trace holds, as anybody would write it down first."""
    return {
        "hosts": trace.hosts,
        "nodes": trace.nodes,
        "outcome": trace.outcome.value,
        "resources": dict(trace.resources),
        "rounds": [_plain_round(each) for each in trace.rounds],
        "alternates_round": None if trace.alternates_round is None else _plain_round(trace.alternates_round),
        "selections": [asdict(each) for each in trace.selections],
        "nearest": None if trace.nearest is None else asdict(trace.nearest),
        "notes": trace.notes,
        "verdict": [trace.verdict, trace.verdict_redacted],
    }


def _plain_round(each: Round) -> dict[str, Any]:
    return {
        "instance": each.instance_uuid,
        "stages": [asdict(stage) for stage in each.stages],
        "refusals": [
            {
                **asdict(group.refusal),
                "rows": group.rows.tolist(),
                **({} if group.available is None else {"available": group.available.tolist()}),
                **({} if group.total is None else {"total": group.total.tolist()}),
                **({} if group.ratio is None else {"ratio": group.ratio.tolist()}),
            }
            for group in each.refusals
        ],
        "ranking": None if each.ranking is None else _plain_ranking(each.ranking),
    }


def _plain_ranking(ranking: Ranking) -> dict[str, Any]:
    weighers = [
        {
            "name": one.name,
            "raw": one.raw.tolist(),
            "multiplier": _listed(one.multiplier),
            "bounds": [one.floor, one.ceiling],
        }
        for one in ranking.weighers
    ]
    return {
        "rows": ranking.rows.tolist(),
        "scores": ranking.scores.tolist(),
        "order": ranking.order.tolist(),
        "weighers": weighers,
    }


def _listed(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def plain_columns(columns: Columns) -> dict[str, Any]:
    """A fleet's columns as lists."""
    return {
        name: column.tolist() if isinstance(column, np.ndarray) else [plain(each) for each in column]
        for name, column in columns.items()
    }


def plain_changes(columns: Columns, base: Columns) -> dict[str, Any]:
    """Changed cells by column and row."""
    now, before = plain_columns(columns), plain_columns(base)
    return {
        name: [[at, one] for at, (one, other) in enumerate(zip(column, before[name], strict=True)) if one != other]
        for name, column in now.items()
        if column != before[name]
    }


def text_of(value: Any) -> bytes:
    """Compact JSON."""
    return json.dumps(value, separators=(",", ":")).encode()


def cpu_ms(call: Callable[[], object], runs: int) -> float:
    """Median CPU milliseconds of one call, after one to warm up."""
    call()
    spent = []
    for _ in range(runs):
        started = time.process_time()
        call()
        spent.append((time.process_time() - started) * 1000)
    return statistics.median(spent)


def line(labels: tuple[object, ...], size: int, write: float, read: float, note: str = "") -> None:
    """One row of the table."""
    count, kind, case, form = labels
    print(
        f"{count:>7}  {kind:<14} {case:<14} {form:<20} {size:>9} {write:>9.2f} {read:>9.2f}  {note}".rstrip(),
        flush=True,
    )


def decision_forms(count: int, kind: str, runs: int) -> None:
    """The forms of a decision, case by case."""
    table, columns = world(count, kind)
    for case, asked in CASES.items():
        trace = decided(table, columns, asked)
        record = DecisionRecord(request=request_to_dict(asked), policy=policy_to_dict(DEFAULT_POLICY), trace=trace)
        names = names_of(trace.hosts, trace.nodes)
        for form, bound in (("ledger, whole", ONE_BLOB), ("ledger, 8 kB", BOUND)):
            pack, unpack = partial(record_to_blob, record, bound=bound), partial(record_of_blob, names=names)
            blob, _ = pack()
            keep = unpack(blob).top_rows
            spent = cpu_ms(pack, runs), cpu_ms(partial(unpack, blob), runs)
            line((count, kind, case, form), len(blob), *spent, "" if keep is None else f"cut to {keep}")
        value = {"request": record.request, "policy": record.policy}
        _json_forms((count, kind, case), partial(_with_trace, value, trace), runs)


def _with_trace(value: Mapping[str, Any], trace: Trace) -> dict[str, Any]:
    return {**value, **plain_trace(trace)}


def _json_forms(labels: tuple[object, ...], value: Callable[[], Mapping[str, Any]], runs: int) -> None:
    """Plain JSON under each compressor; of a decision also without the names of hosts."""
    forms = {"plain": value}
    if "hosts" in value():
        forms["no names"] = lambda: {**value(), "hosts": None, "nodes": None}
    for codec, (pack, unpack) in codecs().items():
        for form, data in forms.items():
            blob = pack(text_of(data()))
            write = cpu_ms(lambda data=data, pack=pack: pack(text_of(data())), runs)
            read = cpu_ms(lambda blob=blob, unpack=unpack: json.loads(unpack(blob)), runs)
            line((*labels, f"{form}, {codec}"), len(blob), write, read)


def snapshot_forms(count: int, kind: str, runs: int) -> None:
    """A whole fleet, and what one placed instance changes of it."""
    rows, aggregates = fleet_of(count, kind)
    chain = SnapshotChain(lambda: 0.0)
    whole = _columns(chain, rows, aggregates)
    (entry,) = chain.entries(whole, host_count=count, bound=SNAPSHOT_BOUND)
    first = rows[count // 2]
    taken = _using(first, lambda one: one.used + 1)
    later = _columns(chain, [*rows[: count // 2], taken, *rows[count // 2 + 1 :]], aggregates)
    change = chain.entries(later, host_count=count, bound=SNAPSHOT_BOUND)[-1]
    write = cpu_ms(lambda: SnapshotChain(lambda: 0.0).entries(whole, host_count=count, bound=SNAPSHOT_BOUND), runs)
    line(
        (count, kind, "whole fleet", "ledger"),
        len(entry.content),
        write,
        cpu_ms(lambda: columns_of_chain([entry.content]), runs),
    )
    _json_forms((count, kind, "whole fleet"), lambda: plain_columns(whole), runs)
    write = cpu_ms(lambda: chain.entries(later, host_count=count, bound=SNAPSHOT_BOUND), runs)
    read = cpu_ms(lambda: columns_of_chain([entry.content, change.content]), runs)
    line((count, kind, "one change", "ledger"), len(change.content), write, read, "read with the whole")
    _json_forms((count, kind, "one change"), lambda: plain_changes(later, whole), runs)


def host_names_forms(count: int, runs: int) -> None:
    """The names of hosts and nodes, which all decisions about the same hosts share."""
    rows, _ = fleet(count)
    hosts, nodes = tuple(row.host for row in rows), tuple(row.nodename for row in rows)
    labels = count, "", "names"
    blob = compressed(json_bytes(names_of(hosts, nodes)))
    write = cpu_ms(lambda: compressed(json_bytes(names_of(hosts, nodes))), runs)
    read = cpu_ms(lambda: [names_from_runs(runs) for runs in json.loads(uncompressed(blob)).values()], runs)
    line((*labels, "ledger"), len(blob), write, read)
    _json_forms(labels, lambda: {"names": [hosts, nodes]}, runs)


def _columns(chain: SnapshotChain, rows: list[HostRow], aggregates: list[AggregateRow]) -> Columns:
    table = host_table_from_rows(rows, aggregates)
    facts = providers(rows, has_devices=False).facts
    return {**table_to_columns(table), **chain.providers.columns(facts)}


def print_forms(counts: list[int], runs: int) -> None:
    """All tables."""
    print(f"{'hosts':>7}  {'fleet':<14} {'case':<14} {'form':<20} {'bytes':>9} {'write ms':>9} {'read ms':>9}")
    for count in counts:
        host_names_forms(count, runs)
        for kind in KINDS:
            decision_forms(count, kind, runs)
            snapshot_forms(count, kind, min(runs, 5))
