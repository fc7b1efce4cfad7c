from computeagent.metadata.limits import (
    ALL_CONNECTIONS,
    BURST,
    GUEST_CONNECTIONS,
    MAX_REMEMBERED,
    NETWORK_CONNECTIONS,
    PER_S,
    GuestLimits,
)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_burst_is_answered_and_then_so_many_a_second() -> None:
    clock = Clock()
    limits = GuestLimits(clock)
    guest = ("n", "10.0.0.5")

    assert [limits.request(guest) for _ in range(int(BURST))] == [0.0] * int(BURST)
    assert limits.request(guest) == 1 / PER_S
    assert limits.request(("n", "10.0.0.6")) == 0.0
    clock.now = 1.0
    assert [limits.request(guest) for _ in range(int(PER_S))] == [0.0] * int(PER_S)
    assert limits.request(guest) > 0


def test_connections_are_bounded_by_guest_by_network_and_in_all() -> None:
    limits = GuestLimits(Clock())

    assert [limits.connect(("n", "a")) for _ in range(GUEST_CONNECTIONS + 1)].count(True) == GUEST_CONNECTIONS
    of_network = [limits.connect(("n", str(number))) for number in range(NETWORK_CONNECTIONS + 5)]
    assert of_network.count(True) == NETWORK_CONNECTIONS - GUEST_CONNECTIONS
    others = [limits.connect((str(number), "a")) for number in range(ALL_CONNECTIONS)]
    assert others.count(True) == ALL_CONNECTIONS - NETWORK_CONNECTIONS
    limits.disconnect(("n", "a"))
    assert limits.connect(("n", "a"))


def test_no_more_addresses_are_remembered_than_that() -> None:
    limits = GuestLimits(Clock())

    for number in range(MAX_REMEMBERED + 10):
        limits.request(("n", str(number)))

    assert len(limits._buckets) == MAX_REMEMBERED
