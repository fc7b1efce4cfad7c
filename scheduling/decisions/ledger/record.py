"""What a decision keeps in its blob: the question whole, the answer whole or, where that is too large, cut."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.decisions.ledger.container import ChunkWriter, compressed, digest_of, reader_of, uncompressed
from scheduling.decisions.ledger.trace_cut import TOP_ROWS, cut_content, trace_of_cut
from scheduling.decisions.ledger.trace_pack import times_of, trace_content, trace_of_content
from scheduling.domain.trace.trace import Trace

FORMAT = 2


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """A decision's content. `trace` is None when the scheduler failed before it had one.

    `excluded` are the compute nodes that were left out because their claims were lost, with the reason; `scope` is the
    only node whose candidates were searched; `with_candidates` tells whether candidates were asked for at all.
    Where the trace is cut, `top_rows` says to how many hosts of each ranking, and `ranked` how many each had.
    """

    request: Mapping[str, Any]
    policy: Mapping[str, Any]
    lost_claims: tuple[Mapping[str, Any], ...] = ()
    excluded: Mapping[str, Refusal] | None = None
    scope: str | None = None
    with_candidates: bool = False
    trace: Trace | None = None
    top_rows: int | None = None
    ranked: tuple[int, ...] = ()


def record_to_blob(record: DecisionRecord, *, bound: int) -> tuple[bytes, str]:
    """The blob, and the digest of the trace. Above `bound` bytes the trace is cut, as little as will do."""
    head = _head(record)
    if record.trace is None:
        return _blob(head, None, bound), ""
    head["times"] = times_of(record.trace)
    whole = trace_content(record.trace)
    digest, blob = digest_of(whole), _blob(head, whole, bound)
    for top_rows in TOP_ROWS:
        if len(blob) <= bound:
            break
        smaller = _blob({**head, "keep": top_rows}, cut_content(record.trace, top_rows), bound)
        blob = min(blob, smaller, key=len)
    return blob, digest


def record_of_blob(blob: bytes, *, names: Mapping[str, Any] | None) -> DecisionRecord:
    """The inverse of `record_to_blob`; `names` as `names_of` gave them. Raises ValueError for an unknown format."""
    reader = reader_of(uncompressed(blob))
    head = reader.head
    if head.get("format") != FORMAT:
        raise ValueError(f"a decision of the unknown format {head.get('format')!r}")
    trace, ranked = _trace(head, reader.chunks, names)
    return DecisionRecord(
        request=head["request"],
        policy=head["policy"],
        lost_claims=tuple(head["lost_claims"]),
        excluded={node: _refusal(data) for node, data in head["excluded"].items()},
        scope=head["scope"],
        with_candidates=head["with_candidates"],
        trace=trace,
        top_rows=head.get("keep"),
        ranked=ranked,
    )


def trace_digest(trace: Trace) -> str:
    """Equal for two traces exactly when they decide alike to the bit, whatever time they took."""
    return digest_of(trace_content(trace))


def _head(record: DecisionRecord) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "request": record.request,
        "policy": record.policy,
        "lost_claims": json.loads(json.dumps(record.lost_claims, default=str)),
        "excluded": {node: asdict(refusal) for node, refusal in (record.excluded or {}).items()},
        "scope": record.scope,
        "with_candidates": record.with_candidates,
    }


def _blob(head: Mapping[str, Any], trace: bytes | None, bound: int) -> bytes:
    writer = ChunkWriter()
    place = None if trace is None else writer.chunk(trace)
    return compressed(writer.content({**head, "trace": place}), aim=bound)


def _trace(
    head: Mapping[str, Any], chunks: Sequence[bytes], names: Mapping[str, Any] | None
) -> tuple[Trace | None, tuple[int, ...]]:
    if head["trace"] is None:
        return None, ()
    if names is None:
        raise ValueError("a trace cannot be read without the names of its hosts")
    content = chunks[head["trace"]]
    if head.get("keep") is None:
        return trace_of_content(content, names=names, times=head["times"]), ()
    trace, ranked = trace_of_cut(content, names=names, times=head["times"])
    return trace, tuple(ranked)


def _refusal(data: Mapping[str, Any]) -> Refusal:
    return Refusal(**{**data, "reason": RefusalReason(data["reason"])})
