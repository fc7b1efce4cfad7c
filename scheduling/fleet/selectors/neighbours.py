"""Who is on hosts and who has a claim there, read behind the locks of a claim.

What the instances are is known to the app above, which says here how to ask it.
"""

from collections.abc import Callable, Collection, Mapping
from uuid import UUID

from placement.selectors.allocations import consumers_by_provider
from scheduling.domain.neighbours import Neighbour

NeighbourSource = Callable[[Collection[str], Collection[UUID]], Collection[Neighbour]]
"""Instances on these hosts, and those of these uuids wherever they are, also if they wait to be built.

Invariant: who has a claim and gets a row while this runs is among them.
"""

_SOURCES: list[NeighbourSource] = []


def neighbour_source_register(source: NeighbourSource) -> None:
    """Let this be asked. Called when the apps are ready; the same one counts once."""
    if source not in _SOURCES:
        _SOURCES.append(source)


def neighbours_now(hosts: Mapping[UUID, str]) -> dict[UUID, list[Neighbour]]:
    """By compute node ({node: host}): everybody there. The number of queries does not depend on how many they are."""
    claimed = consumers_by_provider(hosts, consumer_type="INSTANCE")
    consumers = {consumer for there in claimed.values() for consumer in there}
    found = {one.uuid: one for source in _SOURCES for one in source(set(hosts.values()), consumers)}
    by_host: dict[str, set[str]] = {}
    for one in found.values():
        by_host.setdefault(one.host, set()).add(one.uuid)
    return {
        node: [
            found.get(uuid, Neighbour(uuid))
            for uuid in sorted(by_host.get(host, set()) | {str(consumer) for consumer in claimed.get(node, ())})
        ]
        for node, host in hosts.items()
    }
