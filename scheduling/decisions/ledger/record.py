"""What a decision keeps in its blob: the question whole, the answer whole or, where that is too large, cut.

Two lines of JSON: the record, and the trace, which can be read and named (by its digest) by itself.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from controlplane.kernel.reasons import Refusal, RefusalReason
from controlplane.kernel.texts import phrase as _
from scheduling.decisions.ledger.content import OtherVersion, compressed, digest_of, json_bytes, uncompressed
from scheduling.decisions.ledger.trace_content import times_of, trace_content, with_times
from scheduling.decisions.ledger.trace_cut import TOP_ROWS, cut_content, trace_of_cut
from scheduling.domain.trace.codec import trace_from_dict
from scheduling.domain.trace.trace import Trace

FORMAT = 1


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
    trace = record.trace
    head = {
        "format": FORMAT,
        "request": record.request,
        "policy": record.policy,
        "lost_claims": json.loads(json.dumps(record.lost_claims, default=str)),
        "excluded": {node: asdict(refusal) for node, refusal in (record.excluded or {}).items()},
        "scope": record.scope,
        "with_candidates": record.with_candidates,
        "times": None if trace is None else times_of(trace),
        "top_rows": None,
    }
    if trace is None:
        return compressed(json_bytes(head)), ""
    content = trace_content(trace)
    whole = json_bytes(content)
    digest, blob = digest_of(whole), compressed(json_bytes(head) + b"\n" + whole, aim=bound)
    if len(blob) <= bound or not _is_worth_cutting(head, content, len(blob), bound):
        return blob, digest
    for top_rows in TOP_ROWS:
        cut = json_bytes({**head, "top_rows": top_rows}) + b"\n" + json_bytes(cut_content(trace, top_rows))
        blob = min(blob, compressed(cut, aim=bound), key=len)
        if len(blob) <= bound:
            break
    return blob, digest


def _is_worth_cutting(head: Mapping[str, Any], content: Mapping[str, Any], size: int, bound: int) -> bool:
    """Whether a cut can bring the blob of `size` bytes to the bound, or at least to half of what it is.

    What a cut leaves as it is, the names of instances and chosen hosts, may alone be too much: of a batch of a
    thousand it is nearly all.
    """
    rounds = [{**each, "ranking": None} for each in content["rounds"]]
    smallest = len(compressed(json_bytes(head) + json_bytes({**content, "rounds": rounds, "alternates_round": None})))
    return smallest <= max(bound, size // 2)


def record_of_blob(blob: bytes, *, names: Mapping[str, Any] | None) -> DecisionRecord:
    """The inverse of `record_to_blob`; `names` as `names_of` gave them. Raises OtherVersion."""
    head, data = data_of_blob(blob)
    trace, ranked = None, list[int]()
    if data is not None:
        if names is None:
            raise ValueError("a trace cannot be read without the names of its hosts")
        named = {**data, **names}
        trace, ranked = (trace_from_dict(named), ranked) if head["top_rows"] is None else trace_of_cut(named)
        trace = with_times(trace, head["times"])
    return DecisionRecord(
        request=head["request"],
        policy=head["policy"],
        lost_claims=tuple(head["lost_claims"]),
        excluded={
            node: Refusal(**{**refusal, "reason": RefusalReason(refusal["reason"])})
            for node, refusal in head["excluded"].items()
        },
        scope=head["scope"],
        with_candidates=head["with_candidates"],
        trace=trace,
        top_rows=head["top_rows"],
        ranked=tuple(ranked),
    )


def data_of_blob(blob: bytes) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The record and, if it has one, its trace without names, as JSON values. Raises OtherVersion."""
    head, *trace = (json.loads(line) for line in uncompressed(blob).split(b"\n"))
    if head.get("format") != FORMAT:
        raise OtherVersion(_("This decision was written by another version, in a form that this version cannot read."))
    return head, trace[0] if trace else None


def trace_digest(trace: Trace) -> str:
    """Equal for two traces exactly when they decide alike to the bit, whatever time they took."""
    return digest_of(json_bytes(trace_content(trace)))
