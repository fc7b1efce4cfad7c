"""Who lives on the hosts now and what they do, for runs that are not about one request of a caller.

Placement tells who holds something of which host. What the instances are is known to the app above, which says here
how to ask it.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from placement.selectors import allocations_by_consumer
from scheduling.domain.policy import Policy
from scheduling.filters.trusted import TrustedFilter
from scheduling.fleet.cache.attestation import trust_levels
from scheduling.fleet.cache.host_metrics import host_metrics, metrics_asked
from scheduling.fleet.facts import FleetFacts, HostInstances
from scheduling.models import ComputeNode

FactsSource = Callable[[Sequence[Policy]], Mapping[str, HostInstances]]
"""By host: I/O-heavy operations, and what filters and weighers of these policies ask of its instances."""

TRUSTED = TrustedFilter.__name__
_SOURCES: list[FactsSource] = []


def facts_source_register(source: FactsSource) -> None:
    """Let this be asked as well. Called when the apps are ready; the same one counts once."""
    if source not in _SOURCES:
        _SOURCES.append(source)


def present_facts(*, nodes: Sequence[ComputeNode], policies: Sequence[Policy]) -> FleetFacts:
    """All that these policies look at, of these nodes' hosts, as it is now."""
    found = {
        host: HostInstances(instance_uuids=frozenset(uuids), num_instances=len(uuids))
        for host, uuids in _holders(nodes).items()
    }
    for source in _SOURCES:
        for host, instances in source(policies).items():
            before = found.get(host, HostInstances())
            found[host] = replace(instances, instance_uuids=before.instance_uuids, num_instances=before.num_instances)
    is_trust_asked = any(TRUSTED in policy.filters for policy in policies)
    metrics = host_metrics().of(metrics_asked(policies))
    return FleetFacts(found, trust_levels=trust_levels() if is_trust_asked else {}, metrics=metrics)


def _holders(nodes: Sequence[ComputeNode]) -> dict[str, set[str]]:
    """By host: consumers that hold something of its compute node."""
    hosts = {node.id: node.host for node in nodes}
    on_host: defaultdict[str, set[str]] = defaultdict(set)
    for consumer, held in allocations_by_consumer().items():
        for host in {hosts[one.provider_uuid] for one in held if one.provider_uuid in hosts}:
            on_host[host].add(str(consumer))
    return on_host
