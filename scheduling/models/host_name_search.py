"""Names of hosts in tables of host names, and decisions that refused a host of a given name."""

import json
import zlib
from collections import OrderedDict
from collections.abc import Collection
from functools import lru_cache
from threading import Lock
from typing import Any

from django.db.models import BinaryField, Q, QuerySet
from django.db.models.functions import Substr

from scheduling.domain.trace.names import places_in_runs
from scheduling.models.decision import SchedulingDecision
from scheduling.models.fleet_snapshot import HostNames

# Host names are stored folded, a few hundred bytes for a fleet with numbered names.
_KNOWN = 256


class _KnownHostNames:
    """The names that were read last. A table of host names never changes, so what was read once stays right."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._names: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def of(self, digests: Collection[str]) -> dict[str, dict[str, Any]]:
        """The names of each; what is not known is read at once. A table of host names that is gone has none."""
        with self._lock:
            found = {digest: self._names[digest] for digest in digests if digest in self._names}
        missing = [digest for digest in digests if digest not in found]
        if missing:
            rows = HostNames.objects.filter(digest__in=missing).values_list("digest", "content")
            read = {digest: json.loads(zlib.decompress(bytes(content))) for digest, content in rows}
            self._remember(read)
            found |= read
        return found

    def _remember(self, read: dict[str, dict[str, Any]]) -> None:
        with self._lock:
            self._names.update(read)
            while len(self._names) > _KNOWN:
                self._names.popitem(last=False)


_KNOWN_NAMES = _KnownHostNames()


def host_names_read(digest: str) -> dict[str, Any]:
    """The names as traces are written with them. Raises KeyError when the table of host names is gone."""
    return _KNOWN_NAMES.of([digest])[digest]


def decisions_refusing(rows: QuerySet[SchedulingDecision], name: str) -> QuerySet[SchedulingDecision]:
    """Those of `rows` in which a host or node of this name (whatever the case) was refused.

    One bit of each decision's bitmap is looked at, in the database.
    """
    found = Q(pk__in=())
    bytes_asked: dict[str, Substr] = {}
    for row, digests in sorted(_name_tables_by_row(name).items()):
        alias = f"bits_{row // 8}"
        bytes_asked[alias] = Substr("refused_hosts__bits", row // 8 + 1, 1, output_field=BinaryField())
        found |= Q(host_names__in=digests, **{f"{alias}__in": _bytes_with(row % 8)})
    return rows.alias(**bytes_asked).filter(found)


def _name_tables_by_row(name: str) -> dict[int, list[str]]:
    """In which tables of host names the host stands at which row: mostly at the same one, however often the fleet has
    grown.
    """
    tables: dict[int, list[str]] = {}
    digests = HostNames.objects.order_by().values_list("digest", flat=True)
    for digest, names in _KNOWN_NAMES.of(list(digests)).items():
        for row in _rows_of(names, name):
            tables.setdefault(row, []).append(digest)
    return tables


@lru_cache(maxsize=8)
def _bytes_with(bit: int) -> tuple[bytes, ...]:
    """All bytes in which this bit, counted from the highest, is set."""
    return tuple(bytes([value]) for value in range(256) if value & (0x80 >> bit))


def _rows_of(names: dict[str, Any], name: str) -> set[int]:
    hosts = places_in_runs(names["hosts"], name)
    return {*hosts, *(() if names["nodes"] is None else places_in_runs(names["nodes"], name))}
