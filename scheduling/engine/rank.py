"""This module brings hosts that passed into an order: weigh, sort, shuffle equals, choose within the subset."""

import random
from collections.abc import Sequence
from operator import is_
from typing import NamedTuple

import numpy as np

from scheduling.domain.columns import FloatArray, IntArray
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.plugins.guard import plugin_guard
from scheduling.domain.policy import Policy
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.domain.trace.weighing import Ranking, WeigherColumn, best_first, total
from scheduling.engine.plugin_answers import raw_answer, weigher_answer
from scheduling.weighers.base import Weigher

Weighers = Sequence[tuple[Weigher, float | None]]


class _Weighed(NamedTuple):
    """What one weigher made of the hosts, and which objects it read (None: nobody knows).

    `ends` are those of its scale; it and `addend` are None where it adds nothing. `raw` and `addend` are copies of its
    own for a weigher that judges hosts alone: what a placement changes is put into them. `is_put`: that was done, and
    the addends of all other hosts are as they were.
    """

    read: tuple[object, ...] | None
    column: WeigherColumn
    raw: FloatArray
    addend: FloatArray | None
    ends: tuple[float, float] | None
    is_put: bool = False


class _Setting(NamedTuple):
    """A weigher with the policy's multiplier for it (None: its own)."""

    weigher: Weigher
    configured: float | None
    guard: plugin_guard


class _Changed(NamedTuple):
    """The host that the last instance went to, if it is still in the race, and its position among the hosts."""

    hosts: Hosts
    at: IntArray


class Ranker:
    """Ranks the hosts for one instance of a batch after the other.

    A weigher is asked again only where something changed that it reads. Invariant: what a weigher reads is compared by
    identity, since tables and columns are replaced, never changed. Most weighers read what a placement leaves as it is,
    and the rankings of the trace then share their columns. Of the others, those that judge hosts alone are asked about
    the host that was placed on since, which halves the time of a batch of a thousand among 5,000 hosts
    (`tests/properties/scheduling/test_ranker_properties.py` holds it to the plain way).
    """

    def __init__(self, weighers: Weighers, policy: Policy, rng: random.Random) -> None:
        # One guard a weigher: a batch asks each a thousand times what it reads.
        self._weighers = [_Setting(*each, plugin_guard("weigher", each[0].name)) for each in weighers]
        self._policy = policy
        self._rng = rng
        self._rows: IntArray | None = None
        self._placed = 0
        self._last: tuple[_Weighed, ...] = ()
        self._scores: FloatArray = np.empty(0, dtype=np.float64)

    def rank(self, hosts: Hosts, spec: RequestSpecView) -> Ranking:
        """The order in which hosts are to be tried. A single host is not weighed, as in Nova."""
        if len(hosts) == 1:
            return Ranking(hosts.rows, np.zeros(1, dtype=np.float64), np.zeros(1, dtype=np.int64))
        before = self._last if self._rows is hosts.rows else (None,) * len(self._weighers)
        changed = self._changed(hosts)
        weighed = tuple(
            _weigh(setting, hosts, spec, last, changed) for setting, last in zip(self._weighers, before, strict=True)
        )
        scores = self._total(weighed, before, changed, len(hosts))
        self._rows, self._placed, self._last, self._scores = hosts.rows, len(hosts.table.placed), weighed, scores
        return Ranking(hosts.rows, scores, self._own_order(scores), tuple(each.column for each in weighed))

    def _changed(self, hosts: Hosts) -> _Changed | None:
        """The only host that is not as it was in the last round; None where that is not known."""
        if self._rows is not hosts.rows or len(hosts.table.placed) != self._placed + 1:
            return None
        only = hosts.only(hosts.table.last_placed())
        return _Changed(only, hosts.rows.searchsorted(only.rows))

    def _total(
        self, weighed: Sequence[_Weighed], before: Sequence[_Weighed | None], changed: _Changed | None, count: int
    ) -> FloatArray:
        addends = [each.addend for each in weighed if each.addend is not None]
        pairs = zip(weighed, before, strict=True)
        if changed is None or not all(each.is_put or (last and each.addend is last.addend) for each, last in pairs):
            return total(count, addends)
        scores = self._scores.copy()
        for at in changed.at.tolist():
            scores[at] = sum((addend[at] for addend in addends), start=0.0)
        return scores

    def _own_order(self, scores: FloatArray) -> IntArray | None:
        """The order that chance decides with the scores; None where nothing but the scores decides."""
        policy = self._policy
        if policy.host_subset_size == 1 and not policy.shuffle_best_same_weighed_hosts:
            return None
        order = best_first(scores)
        if policy.shuffle_best_same_weighed_hosts:
            equals = int(np.count_nonzero(scores == scores[order[0]]))
            best = order[:equals].tolist()
            self._rng.shuffle(best)
            order = np.concatenate([np.array(best, dtype=np.int64), order[equals:]])
        # One of the first few, chosen at random, moves to the front; the others keep their order.
        at = self._rng.randrange(min(policy.host_subset_size, len(order)))
        return np.concatenate([order[at : at + 1], order[:at], order[at + 1 :]]) if at else order


def _weigh(
    setting: _Setting,
    hosts: Hosts,
    spec: RequestSpecView,
    before: _Weighed | None,
    changed: _Changed | None,
) -> _Weighed:
    weigher, configured, guard = setting
    with guard:
        read = weigher.reads(hosts.table, spec)
        if before is not None and _are_same(read, before.read):
            return before._replace(is_put=False) if before.is_put else before
    if before is not None and changed is not None and weigher.judges_hosts_alone:
        return _put(before, changed.at, raw_answer(weigher, changed.hosts, spec, configured), read)
    raw, multiplier = weigher_answer(weigher, hosts, spec, configured)
    column = WeigherColumn(weigher.name, raw, multiplier, floor=weigher.minval, ceiling=weigher.maxval)
    addend = column.addend()
    own = raw.copy() if weigher.judges_hosts_alone else raw
    return _Weighed(read, column, own, addend, None if addend is None else column.ends(raw))


def _put(before: _Weighed, at: IntArray, raw: FloatArray, read: tuple[object, ...] | None) -> _Weighed:
    """The answer of the round before with other values at these positions; multipliers do not change in a batch."""
    column = before.column.put(at, raw, before.raw[at])
    before.raw[at] = raw
    if column.is_idle:
        return _Weighed(read, column, before.raw, None, None, is_put=True)
    ends = column.ends(before.raw)
    if ends != before.ends or before.addend is None:
        addend = None if ends[0] == ends[1] else column.weighted_at(before.raw, ends)
        return _Weighed(read, column, before.raw, addend, None if addend is None else ends)
    before.addend[at] = column.weighted_at(raw, ends, at)
    return _Weighed(read, column, before.raw, before.addend, ends, is_put=True)


def _are_same(some: tuple[object, ...] | None, others: tuple[object, ...] | None) -> bool:
    if some is None or others is None:
        return False
    return len(some) == len(others) and all(map(is_, some, others))
