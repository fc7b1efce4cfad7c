"""The two forms of a filter: over columns (ours) and host by host (Nova's, for plug-ins)."""

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.columns import IntArray
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.hosts.host_state import HostState
from scheduling.domain.plugins.errors import PluginFailed
from scheduling.domain.plugins.guard import plugin_failure, shown
from scheduling.domain.request.request_spec import RequestSpec


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
    def refusals(self, hosts: Hosts, spec: RequestSpec) -> list[RefusalGroup]:
        """The hosts it refuses, each in one group only; all others pass."""


class BaseHostFilter(Filter):
    """A filter that looks at one host at a time, as Nova's do: override `host_passes`."""

    def host_passes(self, host_state: HostState, spec_obj: RequestSpec) -> bool | Refusal:
        """True to let the host pass; False, or a Refusal with the numbers, to refuse it."""
        raise NotImplementedError

    def refusals(self, hosts: Hosts, spec: RequestSpec) -> list[RefusalGroup]:
        """One group for each distinct refusal."""
        return refusals_by_host(self, self.name, hosts, spec)


@runtime_checkable
class HasHostPasses(Protocol):
    """Anything that answers for one host; it need not inherit from us."""

    def host_passes(self, host_state: HostState, spec_obj: RequestSpec) -> bool | Refusal:
        """True to let the host pass."""


class ForeignFilter(Filter):
    """Wraps an object that has `host_passes` and inherits from nothing of ours."""

    def __init__(self, wrapped: HasHostPasses) -> None:
        self._wrapped = wrapped
        # Nova declares these on the class; a filter without them runs every time, and not on rebuild.
        self.run_filter_once_per_request = bool(getattr(wrapped, "run_filter_once_per_request", False))  # type: ignore[misc]
        self.RUN_ON_REBUILD = bool(getattr(wrapped, "RUN_ON_REBUILD", False))  # type: ignore[misc]

    @property
    def name(self) -> str:
        """The name of the wrapped class."""
        return type(self._wrapped).__name__

    def refusals(self, hosts: Hosts, spec: RequestSpec) -> list[RefusalGroup]:
        """One group for each distinct refusal."""
        return refusals_by_host(self._wrapped, self.name, hosts, spec)


def refusals_by_host(plugin: HasHostPasses, name: str, hosts: Hosts, spec: RequestSpec) -> list[RefusalGroup]:
    """Ask a per-host filter about every host. Raises PluginFailed when it raises or answers something else."""
    groups: dict[Refusal, list[int]] = {}
    for row in hosts.rows.tolist():
        answer = _ask(plugin, name, hosts.state(row), spec)
        if answer is not None:
            groups.setdefault(answer, []).append(row)
    return [RefusalGroup(_staged(refusal, hosts.stage), _rows(rows)) for refusal, rows in groups.items()]


def _ask(plugin: HasHostPasses, name: str, state: HostState, spec: RequestSpec) -> Refusal | None:
    try:
        answer: object = plugin.host_passes(state, spec)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise plugin_failure("filter", name, error, host=state.host) from error
    if isinstance(answer, Refusal):
        return answer
    if not isinstance(answer, bool | np.bool_):
        message = f"the filter {name} answered {shown(answer)} for {state.host}; true or false expected"
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
