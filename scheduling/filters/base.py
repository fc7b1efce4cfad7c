"""The two forms of a filter: one judges columns (ours), the other one host after the other (Nova's, for plug-ins)."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from controlplane.kernel.texts import phrase as _
from scheduling.domain.columns import IntArray
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.hosts.host_state import HostState
from scheduling.domain.plugins.errors import PluginFailed
from scheduling.domain.plugins.guard import plugin_guard, shown
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.filter_properties import request_for


class Filter(ABC):
    """A rule over all hosts at once. It holds no state: one object serves every request.

    `run_filter_once_per_request`: its answer cannot change within a batch, so it runs for the first instance only.
    `judges_hosts_alone`: what it says of a host depends on the request and that host alone, not on other hosts, the
    group or the instance's place in the batch; so for later instances only hosts that got one of the batch are asked.
    `RUN_ON_REBUILD`: it also runs when only the present host is asked about for a new image.
    """

    run_filter_once_per_request: ClassVar[bool] = False
    judges_hosts_alone: ClassVar[bool] = False
    RUN_ON_REBUILD: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """How policies and traces name it."""
        return type(self).__name__

    @abstractmethod
    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """The hosts it refuses, each in one group only; all others pass."""


class BaseHostFilter(Filter):
    """A filter that judges one host at a time, as Nova's do.

    Override `host_passes`, or `filter_all` for a rule that compares hosts. Where the last parameter is called
    `filter_properties`, the request comes in Icehouse's older form.
    """

    def host_passes(self, host_state: HostState, spec_obj: RequestSpecView) -> bool | Refusal:
        """True to let the host pass; False, or a Refusal with the numbers, to refuse it."""
        raise NotImplementedError

    def filter_all(self, filter_obj_list: Iterable[HostState], spec_obj: RequestSpecView) -> Iterable[HostState]:
        """The host states that pass."""
        return (state for state in filter_obj_list if _is_passed(self.host_passes(state, spec_obj)))

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """One group for each distinct refusal."""
        return refusals_by_host(self, self.name, hosts, spec)


@runtime_checkable
class HasHostPasses(Protocol):
    """Anything that answers for one host; it need not inherit from us."""

    def host_passes(self, host_state: HostState, spec_obj: RequestSpecView) -> bool | Refusal:
        """True to let the host pass."""


@runtime_checkable
class HasFilterAll(Protocol):
    """Anything that answers for all hosts at once, with those that pass."""

    def filter_all(self, filter_obj_list: Iterable[HostState], spec_obj: RequestSpecView) -> Iterable[HostState]:
        """The host states that pass."""


class ForeignFilter(Filter):
    """Wraps an object that has `host_passes` or `filter_all` and inherits from nothing of ours."""

    def __init__(self, wrapped: HasHostPasses | HasFilterAll) -> None:
        self._wrapped = wrapped
        # Nova declares these on the class; a filter without them runs every time, and not on rebuild.
        self.run_filter_once_per_request = bool(getattr(wrapped, "run_filter_once_per_request", False))  # type: ignore[misc]
        self.RUN_ON_REBUILD = bool(getattr(wrapped, "RUN_ON_REBUILD", False))  # type: ignore[misc]

    @property
    def name(self) -> str:
        """The name of the wrapped class."""
        return type(self._wrapped).__name__

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """One group for each distinct refusal."""
        return refusals_by_host(self._wrapped, self.name, hosts, spec)


def refusals_by_host(
    plugin: HasHostPasses | HasFilterAll, name: str, hosts: Hosts, spec: RequestSpecView
) -> list[RefusalGroup]:
    """Ask a filter in Nova's form about these hosts. Raises PluginFailed when it raises or answers something else."""
    if isinstance(plugin, HasFilterAll) and getattr(type(plugin), "filter_all", None) is not BaseHostFilter.filter_all:
        return _refused_of_all(plugin, name, hosts, spec)
    if not isinstance(plugin, HasHostPasses):
        raise PluginFailed(_("the filter {name} has neither host_passes nor filter_all", name=name), plugin=name)
    groups: dict[Refusal, list[int]] = {}
    with plugin_guard("filter", name) as asked:
        request: Any = request_for(plugin.host_passes, spec)
        for row in hosts.rows.tolist():
            state = hosts.state(row)
            asked.host = state.host
            refusal = _refusal(plugin.host_passes(state, request), name, state)
            if refusal is not None:
                groups.setdefault(refusal, []).append(row)
    return [RefusalGroup(_staged(refusal, hosts.stage), _rows(rows)) for refusal, rows in groups.items()]


def _refused_of_all(plugin: HasFilterAll, name: str, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
    """The hosts that a `filter_all` leaves out. Whatever it returns must be among the host states that it was given."""
    states = {id(state): row for row in hosts.rows.tolist() for state in (hosts.state(row),)}
    with plugin_guard("filter", name):
        request: Any = request_for(plugin.filter_all, spec)
        passed = {id(state) for state in plugin.filter_all([hosts.state(row) for row in hosts.rows.tolist()], request)}
    if passed - states.keys():
        raise PluginFailed(
            _("the filter {name} passed something that is no host it was asked about", name=name), plugin=name
        )
    refused = [row for key, row in states.items() if key not in passed]
    refusal = Refusal(RefusalReason.PLUGIN_REFUSED, detail=name, stage=hosts.stage)
    return [RefusalGroup(refusal, _rows(refused))] if refused else []


def _is_passed(answer: object) -> bool:
    return bool(answer) and not isinstance(answer, Refusal)


def _refusal(answer: object, name: str, state: HostState) -> Refusal | None:
    if isinstance(answer, Refusal):
        return answer
    if not isinstance(answer, bool | np.bool_):
        message = _(
            "the filter {name} answered {answer} for {host}; true or false expected",
            name=name,
            answer=shown(answer),
            host=state.host,
        )
        raise PluginFailed(message, plugin=name, host=state.host)
    return None if answer else Refusal(RefusalReason.PLUGIN_REFUSED, detail=name)


def _staged(refusal: Refusal, stage: str) -> Refusal:
    return Refusal(
        refusal.reason,
        wanted=refusal.wanted,
        available=refusal.available,
        unit=refusal.unit,
        detail=refusal.detail,
        stage=stage,
        total=refusal.total,
        ratio=refusal.ratio,
    )


def _rows(rows: list[int]) -> IntArray:
    return np.array(rows, dtype=np.int64)
