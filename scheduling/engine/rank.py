"""This module brings hosts that passed into an order: weigh, sort, shuffle equals, choose within the subset."""

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scheduling.domain.columns import FloatArray, IntArray
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.plugins.guard import plugin_guard
from scheduling.domain.policy import Policy
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.domain.trace.weighing import Ranking, WeigherColumn, best_first, total
from scheduling.engine.plugin_answers import weigher_answer
from scheduling.weighers.base import Weigher

Weighers = Sequence[tuple[Weigher, float | None]]


class _Weighed(NamedTuple):
    """What one weigher made of the hosts, and which objects it read (None: nobody knows)."""

    read: tuple[object, ...] | None
    column: WeigherColumn
    addend: FloatArray | None


class Ranker:
    """Ranks the hosts for one instance of a batch after the other.

    A weigher is asked again only where something changed that it reads. Invariant: what a weigher reads is compared by
    identity, since tables and columns are replaced, never changed. Most weighers read what a placement leaves as it is,
    and the rankings of the trace then share their columns.
    """

    def __init__(self, weighers: Weighers, policy: Policy, rng: random.Random) -> None:
        self._weighers = weighers
        self._policy = policy
        self._rng = rng
        self._rows: IntArray | None = None
        self._last: tuple[_Weighed | None, ...] = ()

    def rank(self, hosts: Hosts, spec: RequestSpecView) -> Ranking:
        """The order in which hosts are to be tried. A single host is not weighed, as in Nova."""
        if len(hosts) == 1:
            return Ranking(hosts.rows, np.zeros(1, dtype=np.float64), np.zeros(1, dtype=np.int64))
        weighed = self._weighed(hosts, spec)
        scores = total(len(hosts), (each.addend for each in weighed))
        columns = tuple(each.column for each in weighed)
        return Ranking(hosts.rows, scores, self._own_order(scores), columns)

    def _weighed(self, hosts: Hosts, spec: RequestSpecView) -> tuple[_Weighed, ...]:
        last = self._last if self._rows is hosts.rows else (None,) * len(self._weighers)
        found = tuple(
            _weigh(weigher, multiplier, hosts, spec, before)
            for (weigher, multiplier), before in zip(self._weighers, last, strict=True)
        )
        self._rows, self._last = hosts.rows, found
        return found

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
    weigher: Weigher, configured: float | None, hosts: Hosts, spec: RequestSpecView, before: _Weighed | None
) -> _Weighed:
    with plugin_guard("weigher", weigher.name):
        read = weigher.reads(hosts.table, spec)
        if before is not None and _are_same(read, before.read):
            return before
    raw, multiplier = weigher_answer(weigher, hosts, spec, configured)
    column = WeigherColumn(weigher.name, raw, multiplier, floor=weigher.minval, ceiling=weigher.maxval)
    return _Weighed(read, column, column.addend())


def _are_same(some: tuple[object, ...] | None, others: tuple[object, ...] | None) -> bool:
    if some is None or others is None:
        return False
    return len(some) == len(others) and all(one is other for one, other in zip(some, others, strict=True))
