"""How far a host's clock is off, by exchanges of known length."""

import pytest

from computeagent.agent.clock_skew import ClockWatch, skew_of
from computeagent.protocol.hosts import ClockSkew, Registration


class Exchange:
    """A host's clock that is `ahead_s`, and a control plane that answers after `there_s`, `back_s` before the end."""

    def __init__(self, ahead_s: float = 0.0) -> None:
        self.now_s = 1000.0
        self.ahead_s = ahead_s
        self.watch = ClockWatch(lambda: self.now_s + self.ahead_s, lambda: self.now_s)

    def ask(self, there_s: float, back_s: float, *, has_time: bool = True) -> None:
        def answer() -> Registration:
            self.now_s += there_s
            time_s = self.now_s if has_time else 0.0
            self.now_s += back_s
            return Registration("s", "n", False, 30.0, 30.0, time_s=time_s)

        self.watch.exchange(answer)


def test_even_exchange_gives_the_difference_itself() -> None:
    assert skew_of(sent_s=12.0, answered_s=12.4, their_time_s=10.2) == ClockSkew(ahead_s=2.0, error_s=0.2)


@pytest.mark.parametrize(("there_s", "back_s"), [(0.0, 0.4), (0.4, 0.0), (0.3, 0.1)])
def test_difference_lies_within_the_error(there_s: float, back_s: float) -> None:
    exchange = Exchange(ahead_s=-3.0)
    exchange.ask(there_s, back_s)
    found = exchange.watch.best()
    assert found is not None
    assert abs(found.ahead_s + 3.0) <= found.error_s + 1e-6


def test_shortest_of_the_last_exchanges_counts() -> None:
    exchange = Exchange(ahead_s=0.5)
    for there_s, back_s in ((0.4, 0.0), (0.01, 0.01), (0.0, 0.2)):
        exchange.ask(there_s, back_s)
    assert exchange.watch.best() == ClockSkew(ahead_s=0.5, error_s=0.01)


def test_clock_that_was_set_is_measured_anew() -> None:
    exchange = Exchange(ahead_s=60.0)
    exchange.ask(0.001, 0.001)
    exchange.ahead_s = 0.0
    exchange.ask(0.1, 0.1)
    assert exchange.watch.best() == ClockSkew(ahead_s=0.0, error_s=0.1)


def test_control_plane_that_tells_no_time_teaches_nothing() -> None:
    exchange = Exchange()
    exchange.ask(0.1, 0.1, has_time=False)
    assert exchange.watch.best() is None
