"""Names of hosts in rosters, and decisions that refused a host of a given name."""

import json
import zlib
from functools import lru_cache
from typing import Any

from django.db.models import BinaryField, Q, QuerySet
from django.db.models.functions import Substr

from scheduling.domain.compact import names_from_runs
from scheduling.models.decision import SchedulingDecision
from scheduling.models.fleet_snapshot import HostRoster

_KNOWN = 64


@lru_cache(maxsize=_KNOWN)
def roster_names(digest: str) -> dict[str, Any]:
    """The names as traces are written with them. A roster never changes, so what was read once stays right."""
    content = HostRoster.objects.values_list("content", flat=True).get(digest=digest)
    names: dict[str, Any] = json.loads(zlib.decompress(bytes(content)))
    return names


def decisions_refusing(rows: QuerySet[SchedulingDecision], name: str) -> QuerySet[SchedulingDecision]:
    """Those of `rows` in which a host or node of this name (whatever the case) was refused.

    One bit of each decision's bitmap is looked at, in the database.
    """
    found = Q(pk__in=())
    bytes_asked: dict[str, Substr] = {}
    for digest in HostRoster.objects.values_list("digest", flat=True):
        for row in _rows_by_name(digest).get(name.lower(), ()):
            alias = f"bits_{row // 8}"
            bytes_asked[alias] = Substr("refused_hosts__bits", row // 8 + 1, 1, output_field=BinaryField())
            found |= Q(roster=digest, **{f"{alias}__in": _bytes_with(row % 8)})
    return rows.alias(**bytes_asked).filter(found)


@lru_cache(maxsize=8)
def _bytes_with(bit: int) -> tuple[bytes, ...]:
    """All bytes in which this bit, counted from the highest, is set."""
    return tuple(bytes([value]) for value in range(256) if value & (0x80 >> bit))


@lru_cache(maxsize=_KNOWN)
def _rows_by_name(digest: str) -> dict[str, tuple[int, ...]]:
    names = roster_names(digest)
    hosts = names_from_runs(names["hosts"])
    nodes = hosts if names["nodes"] is None else names_from_runs(names["nodes"])
    rows: dict[str, set[int]] = {}
    for row, both in enumerate(zip(hosts, nodes, strict=True)):
        for one in both:
            rows.setdefault(one.lower(), set()).add(row)
    return {one: tuple(sorted(found)) for one, found in rows.items()}
