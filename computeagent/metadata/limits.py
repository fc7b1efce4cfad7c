"""How much of the service one guest may take: connections at a time, and requests by a token bucket."""

from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

BURST = 200.0
"""Requests at once: what cloud-init asks at a boot is some fifty."""
PER_S = 10.0
GUEST_CONNECTIONS = 16
NETWORK_CONNECTIONS = 128
ALL_CONNECTIONS = 512
MAX_REMEMBERED = 4096
"""Addresses, the latest ones. With a full bucket nothing is lost when one is forgotten."""

Guest = tuple[str, str]
"""Network and address; those of a network that are nobody's count as one, without an address."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class GuestLimits:
    """Used by one thread. `clock` is monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._connections: Counter[Guest] = Counter()
        self._of_network: Counter[str] = Counter()
        self._buckets: OrderedDict[Guest, _Bucket] = OrderedDict()

    def connect(self, guest: Guest) -> bool:
        """One more connection, if the guest may have it; `disconnect` follows then."""
        network, _ = guest
        if (
            self._connections[guest] >= GUEST_CONNECTIONS
            or self._of_network[network] >= NETWORK_CONNECTIONS
            or self._of_network.total() >= ALL_CONNECTIONS
        ):
            return False
        self._connections[guest] += 1
        self._of_network[network] += 1
        return True

    def disconnect(self, guest: Guest) -> None:
        """It is closed."""
        network, _ = guest
        # What is left at 0 would be remembered for good.
        self._connections = self._connections - Counter([guest])
        self._of_network = self._of_network - Counter([network])

    def request(self, guest: Guest) -> float:
        """One more request: 0 if it may be answered, else in how many seconds."""
        now = self._clock()
        bucket = self._buckets.pop(guest, None) or _Bucket(BURST, now)
        bucket.tokens = min(BURST, bucket.tokens + (now - bucket.at) * PER_S)
        bucket.at = now
        self._buckets[guest] = bucket
        if len(self._buckets) > MAX_REMEMBERED:
            self._buckets.popitem(last=False)
        if bucket.tokens < 1.0:
            return (1.0 - bucket.tokens) / PER_S
        bucket.tokens -= 1.0
        return 0.0
