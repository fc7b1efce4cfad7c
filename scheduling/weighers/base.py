"""The two forms of a weigher: one weighs columns (ours), the other one host after the other (Nova's, for plug-ins)."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from controlplane.kernel.texts import phrase as _
from scheduling.domain.columns import FloatArray
from scheduling.domain.hosts.aggregates import min_numbers
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.hosts.host_state import HostState
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.plugins.errors import PluginFailed
from scheduling.domain.plugins.guard import Asked, plugin_guard, shown
from scheduling.domain.request.request_spec import RequestSpecView

Multiplier = float | FloatArray
"""One for all hosts, or one for each."""


class Weigher(ABC):
    """Gives every host a raw value; scaling and multiplying are the engine's.

    `minval` and `maxval` are bounds of the raw value, if it has any: they clamp it and fix that end of the scale.
    `multiplier_key` is the aggregate metadata key that overrides the multiplier; `direction` -1 means that a large
    value is bad at a positive multiplier. `min_multiplier` is the smallest that a policy may set, if there is one.
    `judges_hosts_alone`: what it says of a host depends on the request and that host alone, not on other hosts, the
    group or the instance's place in the batch; so for later instances only the host that got the last one is weighed.
    """

    minval: float | None = None
    maxval: float | None = None
    multiplier_key: ClassVar[str] = ""
    default_multiplier: ClassVar[float] = 1.0
    min_multiplier: ClassVar[float | None] = None
    direction: ClassVar[float] = 1.0
    judges_hosts_alone: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """How policies and traces name it."""
        return type(self).__name__

    def reads(self, table: HostTable, spec: RequestSpecView) -> tuple[object, ...] | None:
        """All objects of the table on which its answer depends. None: it is asked anew for every instance.

        Invariant: while these very objects and the hosts stay the same, the answer for one instance of a batch is the
        answer for the next.
        """
        return None

    @abstractmethod
    def raw(self, hosts: Hosts, spec: RequestSpecView) -> FloatArray:
        """One value for each of these hosts."""

    def weigh(self, hosts: Hosts, spec: RequestSpecView, configured: float | None) -> tuple[FloatArray, Multiplier]:
        """Raw values and multipliers, for weighers where one depends on the other; `configured` is the policy's."""
        return self.raw(hosts, spec), self.multipliers(hosts, spec, configured)

    def multipliers(self, hosts: Hosts, spec: RequestSpecView, configured: float | None) -> Multiplier:
        """The policy's multiplier, or per host the minimum that its aggregates name."""
        default = self.default_multiplier if configured is None else configured
        if not self.multiplier_key:
            return self.direction * default
        return self.direction * min_numbers(hosts, self.multiplier_key, default, spec.note)


class BaseHostWeigher(Weigher):
    """A weigher that judges one host at a time, as Nova's do.

    Override `_weigh_object`, and `weight_multiplier` where the multiplier depends on the host. A multiplier in the
    policy goes before the latter.
    """

    def weight_multiplier(self, host_state: HostState) -> float:
        """The multiplier for one host where the policy names none."""
        return self.default_multiplier

    def _weigh_object(self, host_state: HostState, weight_properties: RequestSpecView) -> float:
        raise NotImplementedError

    def raw(self, hosts: Hosts, spec: RequestSpecView) -> FloatArray:
        """One value per host. Raises PluginFailed when the weigher raises or gives no finite number."""
        return _ask_all(self.name, hosts, lambda state: self._weigh_object(state, spec))

    def multipliers(self, hosts: Hosts, spec: RequestSpecView, configured: float | None) -> Multiplier:
        """The policy's multiplier if it names one, else what the weigher says for each host."""
        return _ask_all(self.name, hosts, self.weight_multiplier) if configured is None else configured


@runtime_checkable
class HasWeighObject(Protocol):
    """Anything that weighs one host; it need not inherit from us."""

    def _weigh_object(self, host_state: HostState, weight_properties: RequestSpecView) -> float: ...


class ForeignWeigher(BaseHostWeigher):
    """Wraps an object that has `_weigh_object` and inherits from nothing of ours."""

    def __init__(self, wrapped: HasWeighObject) -> None:
        self._wrapped = wrapped
        self.minval = getattr(wrapped, "minval", None)
        self.maxval = getattr(wrapped, "maxval", None)

    @property
    def name(self) -> str:
        """The name of the wrapped class."""
        return type(self._wrapped).__name__

    def weight_multiplier(self, host_state: HostState) -> float:
        """The wrapped object's answer, 1 if it has none."""
        ask: Callable[[HostState], float] | None = getattr(self._wrapped, "weight_multiplier", None)
        return self.default_multiplier if ask is None else ask(host_state)

    def _weigh_object(self, host_state: HostState, weight_properties: RequestSpecView) -> float:
        return self._wrapped._weigh_object(host_state, weight_properties)


def _ask_all(name: str, hosts: Hosts, ask: Callable[[HostState], object]) -> FloatArray:
    with plugin_guard("weigher", name) as asked:
        return np.array([_number(name, hosts.state(row), ask, asked) for row in hosts.rows.tolist()], dtype=np.float64)


def _number(name: str, state: HostState, ask: Callable[[HostState], object], asked: Asked) -> float:
    asked.host = state.host
    answer = ask(state)
    if isinstance(answer, int | float | np.integer | np.floating) and math.isfinite(answer):
        return float(answer)
    message = _(
        "the weigher {name} answered {answer} for {host}; a number expected",
        name=name,
        answer=shown(answer),
        host=state.host,
    )
    raise PluginFailed(message, plugin=name, host=state.host)
