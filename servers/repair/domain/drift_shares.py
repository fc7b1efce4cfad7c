"""How much of a look for drift one host may fill: its findings never take the place of those of another."""

from collections import Counter
from collections.abc import Iterator

from controlplane.kernel.texts import phrase as _
from servers.repair.domain.drift import Drift, DriftKind, drift_key


class DriftShares:
    """Counts the findings of one look, host by host. Those of no host are bounded by the look alone."""

    def __init__(self, limit: int) -> None:
        """`limit`: of so many of one host each is a finding of its own."""
        self._limit = limit
        self._listed: Counter[str] = Counter()
        self._left: dict[str, Counter[str]] = {}
        self._besides: dict[tuple[str, str, str], int] = {}

    def takes(self, one: Drift) -> bool:
        """Whether it is listed; else it is counted alone."""
        host = _host_of(one)
        if one.besides:
            self._besides[host, one.kind.value, str(one.evidence.get("pool", ""))] = one.besides
        if not host or self._listed[host] < self._limit:
            self._listed[host] += 1
            return True
        self._left.setdefault(host, Counter())[one.kind.value] += 1
        return False

    def left(self, look: str) -> Iterator[Drift]:
        """For each host of which there is more: one finding that says how much, by kind."""
        counts = {host: Counter(kinds) for host, kinds in self._left.items()}
        for (host, kind, _pool), more in self._besides.items():
            counts.setdefault(host, Counter())[kind] += more
        for host, kinds in sorted(counts.items()):
            more = kinds.total()
            yield Drift(
                key=drift_key(DriftKind.MORE_OF_HOST, look, host),
                kind=DriftKind.MORE_OF_HOST,
                subject=host,
                found=_("Of host {host} there are {more} findings more than are listed.", host=host, more=more),
                evidence={"host": host, "listed": self._listed[host], "more": more, "by_kind": dict(kinds)},
                obstacle=_("They are listed once those that are listed now are put right."),
                host=host,
            )


def left_prefix(look: str) -> str:
    """What the keys of these findings of one look begin with."""
    return drift_key(DriftKind.MORE_OF_HOST, look, "")


def _host_of(one: Drift) -> str:
    """Whose it is, or who saw it."""
    return one.host or str(one.evidence.get("host", ""))
