"""The answers of filters and weighers are checked here, between guards: nonsense becomes PluginFailed, which names the
plug-in.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from controlplane.kernel.reasons import Refusal
from controlplane.kernel.texts import phrase as _
from scheduling.domain.columns import FloatArray
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.plugins.errors import PluginFailed
from scheduling.domain.plugins.guard import plugin_guard, shown
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import BaseHostFilter, Filter, ForeignFilter
from scheduling.filters.registry import BUILT_IN as OUR_FILTERS
from scheduling.weighers.base import Multiplier, Weigher
from scheduling.weighers.registry import BUILT_IN as OUR_WEIGHERS


def filter_answer(each: Filter, spec: RequestSpecView, hosts: Hosts) -> list[RefusalGroup]:
    """A filter's refusals. Raises PluginFailed, with its name, whatever it raised or answered instead."""
    with plugin_guard("filter", each.name):
        groups = each.refusals(hosts, spec)
        if OUR_FILTERS.get(each.name) is type(each) or isinstance(each, BaseHostFilter | ForeignFilter):
            return groups  # what single hosts answered was looked at when they did
        problem = _groups_problem(groups, hosts)
    if problem:
        raise PluginFailed(_("the filter {name} {problem}", name=each.name, problem=problem), plugin=each.name)
    return groups


def weigher_answer(
    weigher: Weigher, hosts: Hosts, spec: RequestSpecView, configured: float | None
) -> tuple[FloatArray, Multiplier]:
    """A weigher's raw values and multipliers. Raises PluginFailed, with its name, whatever it raised or answered."""
    with plugin_guard("weigher", weigher.name):
        raw, multiplier = weigher.weigh(hosts, spec, configured)
        problem = _numbers_problem(raw, len(hosts))
        if not problem and OUR_WEIGHERS.get(weigher.name) is not type(weigher):
            problem = _multiplier_problem(multiplier, len(hosts)) or _bounds_problem(weigher)
    if problem:
        raise _weigher_failed(weigher, problem)
    return raw, multiplier


def raw_answer(weigher: Weigher, hosts: Hosts, spec: RequestSpecView, configured: float | None) -> FloatArray:
    """The raw values alone, for a later instance of a batch: its multipliers are those of the first.

    Raises PluginFailed as `weigher_answer` does.
    """
    if type(weigher).weigh is not Weigher.weigh:
        return weigher_answer(weigher, hosts, spec, configured)[0]
    with plugin_guard("weigher", weigher.name):
        raw = weigher.raw(hosts, spec)
        problem = _numbers_problem(raw, len(hosts))
    if problem:
        raise _weigher_failed(weigher, problem)
    return raw


def _weigher_failed(weigher: Weigher, problem: str) -> PluginFailed:
    return PluginFailed(
        _("the weigher {weigher} {problem}", weigher=weigher.name, problem=problem), plugin=weigher.name
    )


def _groups_problem(groups: object, hosts: Hosts) -> str:
    """Each group must be of hosts that were asked about, in the table's order, and no host may be in two."""
    if not isinstance(groups, list) or not all(isinstance(one, RefusalGroup) for one in groups):
        return _("answered {groups}; a list of refusal groups expected", groups=shown(groups))
    seen = np.zeros(len(hosts.table), dtype=np.bool_)
    asked = np.zeros(len(hosts.table), dtype=np.bool_)
    asked[hosts.rows] = True
    for group in groups:
        rows: Any = group.rows
        if not isinstance(group.refusal, Refusal) or not _are_rows(rows, len(hosts.table)):
            return _("refused something that is no row of the table, or not in the table's order")
        if not asked[rows].all() or seen[rows].any():
            return _("refused a host twice, or one that it was not asked about")
        seen[rows] = True
        if any(not _is_beside(column, len(rows)) for column in (group.available, group.total, group.ratio)):
            return _("gave no number, or not a finite one, for some host that it refused")
    return ""


def _are_rows(rows: Any, count: int) -> bool:
    if not isinstance(rows, np.ndarray) or rows.dtype.kind != "i" or rows.ndim != 1:
        return False
    return not len(rows) or bool(rows[0] >= 0 and rows[-1] < count and (np.diff(rows) > 0).all())


def _is_beside(column: Any, count: int) -> bool:
    if column is None:
        return True
    if not isinstance(column, np.ndarray) or column.shape != (count,):
        return False
    return column.dtype.kind != "f" or bool(np.isfinite(column).all())


def _numbers_problem(raw: Any, count: int) -> str:
    is_column = isinstance(raw, np.ndarray) and raw.shape == (count,) and raw.dtype.kind in "fiub"
    # Of one number, of which a batch has thousands, Python tells faster than numpy.
    are_finite = is_column and (math.isfinite(raw[0]) if count == 1 else np.isfinite(raw).all())
    return "" if are_finite else _("gave no finite number for some host")


def _multiplier_problem(multiplier: Any, count: int) -> str:
    if isinstance(multiplier, np.ndarray):
        return _numbers_problem(multiplier, count) and _("gave no finite multiplier for some host")
    is_number = isinstance(multiplier, int | float | np.integer | np.floating)
    return (
        ""
        if is_number and np.isfinite(multiplier)
        else _("has the multiplier {multiplier}", multiplier=shown(multiplier))
    )


def _bounds_problem(weigher: Weigher) -> str:
    bounds: Iterable[Any] = (weigher.minval, weigher.maxval)
    are_numbers = (each is None or (isinstance(each, int | float) and np.isfinite(each)) for each in bounds)
    return "" if all(are_numbers) else _("has a minval or maxval that is no number")
