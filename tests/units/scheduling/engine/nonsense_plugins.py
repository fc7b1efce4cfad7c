"""Filters and weighers that go wrong in every way that a worker must outlive."""

import sys
from typing import Any

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters import BaseHostFilter, Filter
from scheduling.weighers import BaseHostWeigher, Weigher

REFUSAL = Refusal(RefusalReason.PLUGIN_REFUSED)


class Mute(Exception):
    """Cannot be shown."""

    def __repr__(self) -> str:
        raise ValueError


class Shutdown(BaseException):
    """Not even an Exception."""


def _again(depth: int) -> int:
    return _again(depth + 1) + 1


class ExitingHostFilter(BaseHostFilter):
    def host_passes(self, host_state: Any, spec_obj: RequestSpecView) -> bool:
        sys.exit(1)


class RecursingHostFilter(BaseHostFilter):
    def host_passes(self, host_state: Any, spec_obj: RequestSpecView) -> bool:
        return _again(0) > 0


class ShutdownHostFilter(BaseHostFilter):
    def host_passes(self, host_state: Any, spec_obj: RequestSpecView) -> bool:
        raise Shutdown


class MuteHostFilter(BaseHostFilter):
    def host_passes(self, host_state: Any, spec_obj: RequestSpecView) -> bool:
        raise Mute


class NoneHostFilter(BaseHostFilter):
    def host_passes(self, host_state: Any, spec_obj: RequestSpecView) -> Any:
        return None


class _Columns(Filter):
    """Refuses what `answer` makes of the hosts."""

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        return self.answer(hosts)

    def answer(self, hosts: Hosts) -> Any:
        raise NotImplementedError


class ExitingFilter(_Columns):
    def answer(self, hosts: Hosts) -> Any:
        sys.exit(1)


class RecursingFilter(_Columns):
    def answer(self, hosts: Hosts) -> Any:
        return _again(0)


class NumbersForTruth(_Columns):
    """0 and 1 would be taken for rows."""

    def answer(self, hosts: Hosts) -> Any:
        return hosts.refuse(np.zeros(len(hosts), dtype=np.int64), RefusalReason.PLUGIN_REFUSED)


class ShortMask(_Columns):
    def answer(self, hosts: Hosts) -> Any:
        return hosts.refuse(np.ones(1, dtype=np.bool_), RefusalReason.PLUGIN_REFUSED)


class NotAList(_Columns):
    def answer(self, hosts: Hosts) -> Any:
        return np.ones(len(hosts), dtype=np.bool_)


class NothingAtAll(_Columns):
    def answer(self, hosts: Hosts) -> Any:
        return None


class RowsBeyond(_Columns):
    def answer(self, hosts: Hosts) -> Any:
        return [RefusalGroup(REFUSAL, np.array([len(hosts.table)], dtype=np.int64))]


class RowsBackwards(_Columns):
    def answer(self, hosts: Hosts) -> Any:
        return [RefusalGroup(REFUSAL, np.array([1, 0], dtype=np.int64))]


class RowTwice(_Columns):
    def answer(self, hosts: Hosts) -> Any:
        group = RefusalGroup(REFUSAL, np.array([0], dtype=np.int64))
        return [group, group]


class RowsOfText(_Columns):
    def answer(self, hosts: Hosts) -> Any:
        return [RefusalGroup(REFUSAL, np.array(["h0"]))]


class NanAvailable(_Columns):
    def answer(self, hosts: Hosts) -> Any:
        return [RefusalGroup(REFUSAL, np.array([0], dtype=np.int64), available=np.array([np.nan]))]


class ShortAvailable(_Columns):
    def answer(self, hosts: Hosts) -> Any:
        return [RefusalGroup(REFUSAL, np.array([0, 1], dtype=np.int64), available=np.array([1]))]


class ExitingHostWeigher(BaseHostWeigher):
    def _weigh_object(self, host_state: Any, weight_properties: RequestSpecView) -> float:
        sys.exit(1)


class RecursingHostWeigher(BaseHostWeigher):
    def _weigh_object(self, host_state: Any, weight_properties: RequestSpecView) -> float:
        return _again(0)


class ExitingWeigher(Weigher):
    def raw(self, hosts: Hosts, spec: RequestSpecView) -> Any:
        sys.exit(1)


class AList(Weigher):
    def raw(self, hosts: Hosts, spec: RequestSpecView) -> Any:
        return [1.0] * len(hosts)


class Words(Weigher):
    def raw(self, hosts: Hosts, spec: RequestSpecView) -> Any:
        return np.array(["heavy"] * len(hosts))


class Infinite(Weigher):
    def raw(self, hosts: Hosts, spec: RequestSpecView) -> Any:
        return np.full(len(hosts), np.inf)


class TwoDimensions(Weigher):
    def raw(self, hosts: Hosts, spec: RequestSpecView) -> Any:
        return np.zeros((len(hosts), 2))


class _Plain(Weigher):
    def raw(self, hosts: Hosts, spec: RequestSpecView) -> Any:
        return np.arange(len(hosts), dtype=np.float64)


class NanMultiplier(_Plain):
    def multipliers(self, hosts: Hosts, spec: RequestSpecView, configured: float | None) -> Any:
        return np.full(len(hosts), np.nan)


class ShortMultiplier(_Plain):
    def multipliers(self, hosts: Hosts, spec: RequestSpecView, configured: float | None) -> Any:
        return np.ones(1)


class NoMultiplier(_Plain):
    def multipliers(self, hosts: Hosts, spec: RequestSpecView, configured: float | None) -> Any:
        return None


class BoundlessMinimum(_Plain):
    minval = float("nan")


class OnePart(_Plain):
    """Answers with one number where two are due."""

    def weigh(self, hosts: Hosts, spec: RequestSpecView, configured: float | None) -> Any:
        return 1.0
