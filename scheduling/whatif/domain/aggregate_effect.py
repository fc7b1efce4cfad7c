"""What becomes of hosts and of requests if an aggregate is changed: zones, clashes, and what reads its metadata."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from controlplane.kernel.natural import natural_key
from controlplane.kernel.texts import gettext_noop
from scheduling.domain.policy import Policy
from scheduling.fleet.domain.aggregate_keys import ZONE, KeyReader, readers_of


@dataclass(frozen=True, slots=True)
class AggregateDraft:
    """What an aggregate shall be: its whole metadata, and which hosts come and go."""

    name: str
    metadata: Mapping[str, str] = field(default_factory=dict)
    hosts_added: tuple[str, ...] = ()
    hosts_removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AggregateNow:
    """What it is. `hosts` are its members; `elsewhere` has of each host in question the aggregate that puts it into
    a zone, with that zone, this aggregate left out.
    """

    metadata: Mapping[str, str]
    hosts: frozenset[str]
    elsewhere: Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ZoneMove:
    """Hosts that leave one zone for another."""

    before: str
    after: str
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ZoneClash:
    """A host that would be in two zones, which is refused. `aggregate` is the other one, `zone` what it makes."""

    host: str
    aggregate: str
    zone: str


@dataclass(frozen=True, slots=True)
class MetadataEffect:
    """One key of the metadata. An empty `before` or `after`: None, it is not there. `readers` read what will be there,
    or what was there where the key goes.
    """

    key: str
    before: str | None
    after: str | None
    readers: tuple[KeyReader, ...]

    @property
    def change(self) -> str:
        """`new`, `gone`, `changed`, or `as it is`."""
        if self.before is None:
            return gettext_noop("new")
        if self.after is None:
            return gettext_noop("gone")
        return gettext_noop("as it is") if self.before == self.after else gettext_noop("changed")


@dataclass(frozen=True, slots=True)
class AggregateEffect:
    """The effect of a draft. `added` and `removed` are what really changes; `members` how many hosts it has then."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    members: int
    moves: tuple[ZoneMove, ...]
    clashes: tuple[ZoneClash, ...]
    metadata: tuple[MetadataEffect, ...]

    @property
    def hosts_moved(self) -> tuple[str, ...]:
        """All hosts that change their zone."""
        return tuple(host for move in self.moves for host in move.hosts)


def effect_of(now: AggregateNow, draft: AggregateDraft, policy: Policy) -> AggregateEffect:
    """What the draft would change, by the rules of the service that saves it. The policy says who reads metadata."""
    added = _in_order(host for host in draft.hosts_added if host not in now.hosts)
    removed = _in_order(host for host in draft.hosts_removed if host in now.hosts)
    then = (now.hosts | set(added)) - set(removed)
    zone = draft.metadata.get(ZONE)
    in_clash = _in_order(host for host in then if zone and now.elsewhere.get(host, ("", zone))[1] != zone)
    return AggregateEffect(
        added=added,
        removed=removed,
        members=len(then),
        moves=_moves(now, then, zone, policy.options.default_availability_zone, set(in_clash)),
        clashes=tuple(ZoneClash(host, *now.elsewhere[host]) for host in in_clash),
        metadata=tuple(_metadata(now.metadata, draft.metadata, policy)),
    )


def _moves(
    now: AggregateNow, then: frozenset[str], zone: str | None, default: str, in_clash: set[str]
) -> tuple[ZoneMove, ...]:
    found: dict[tuple[str, str], list[str]] = {}
    for host in (now.hosts | then) - in_clash:
        other = now.elsewhere.get(host, ("", default))[1]
        before = (now.metadata.get(ZONE) if host in now.hosts else None) or other
        after = (zone if host in then else None) or other
        if before != after:
            found.setdefault((before, after), []).append(host)
    return tuple(ZoneMove(*pair, _in_order(found[pair])) for pair in sorted(found))


def _metadata(before: Mapping[str, str], after: Mapping[str, str], policy: Policy) -> Sequence[MetadataEffect]:
    return [
        MetadataEffect(
            key, before.get(key), after.get(key), readers_of(key, after.get(key, before.get(key, "")), policy)
        )
        for key in sorted({*before, *after})
    ]


def _in_order(hosts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(hosts), key=natural_key))
