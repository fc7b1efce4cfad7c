"""From hosts that passed to an order: weigh, sort, shuffle equals, choose within the subset."""

import random
from collections.abc import Sequence

import numpy as np

from scheduling.domain.columns import IntArray
from scheduling.domain.errors import PluginFailed
from scheduling.domain.hosts import Hosts
from scheduling.domain.policy import Policy
from scheduling.domain.request_spec import RequestSpec
from scheduling.domain.weighing import Ranking, WeigherColumn, best_first, score
from scheduling.weighers.base import Weigher

Weighers = Sequence[tuple[Weigher, float | None]]


def rank(hosts: Hosts, spec: RequestSpec, weighers: Weighers, policy: Policy, rng: random.Random) -> Ranking:
    """The order in which hosts are to be tried. A single host is not weighed, as in Nova."""
    if len(hosts) == 1:
        return Ranking(hosts.rows, np.zeros(1, dtype=np.float64), np.zeros(1, dtype=np.int64))
    columns = tuple(_column(weigher, multiplier, hosts, spec) for weigher, multiplier in weighers)
    scores = score(len(hosts), columns)
    order = best_first(scores)
    if policy.shuffle_best_same_weighed_hosts:
        order = _shuffled(order, int(np.count_nonzero(scores == scores[order[0]])), rng)
    return Ranking(hosts.rows, scores, _chosen_first(order, policy.host_subset_size, rng), columns)


def _column(weigher: Weigher, configured: float | None, hosts: Hosts, spec: RequestSpec) -> WeigherColumn:
    try:
        raw, multiplier = weigher.weigh(hosts, spec, configured)
    except PluginFailed:
        raise
    except Exception as error:
        raise PluginFailed(f"the weigher {weigher.name} failed: {error!r}", plugin=weigher.name) from error
    if raw.shape != (len(hosts),) or not np.isfinite(raw).all():
        raise PluginFailed(f"the weigher {weigher.name} gave no finite number for some host", plugin=weigher.name)
    return WeigherColumn(weigher.name, raw, multiplier, floor=weigher.minval, ceiling=weigher.maxval)


def _shuffled(order: IntArray, equals: int, rng: random.Random) -> IntArray:
    head = order[:equals].tolist()
    rng.shuffle(head)
    return np.concatenate([np.array(head, dtype=np.int64), order[equals:]])


def _chosen_first(order: IntArray, subset_size: int, rng: random.Random) -> IntArray:
    """One of the first few, at random, moves to the front; the others keep their order."""
    at = rng.randrange(min(subset_size, len(order)))
    return np.concatenate([order[at : at + 1], order[:at], order[at + 1 :]]) if at else order
