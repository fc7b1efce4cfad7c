"""This module compares who is where with the rules about neighbours that claims keep: groups, and limits of hosts."""

import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from controlplane.kernel.reasons import RefusalReason
from scheduling.destinations.selectors.exceeded_limits import limits_exceeded
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.domain.policy import Policy
from scheduling.domain.request.group_counts import group_count_limits, is_together
from scheduling.domain.request.schedule_request import GroupSnapshot
from servers.instances.selectors.scheduling_facts import fleet_facts
from servers.models import Instance, ServerGroup, ServerGroupMember

INVARIANT = 1


class NeighbourFault(NamedTuple):
    """Which invariant, of whom (a server group, or a host by name), in a sentence, with its numbers."""

    invariant: int
    subject: str
    message: str
    evidence: dict[str, Any]


def neighbour_faults(instances: Sequence[Instance]) -> Iterator[NeighbourFault]:
    """All faults there are now. Changes nothing."""
    inputs = scheduling_inputs()
    policy = inputs.policies.policy()
    yield from _groups(instances, policy)
    for host, refusal in limits_exceeded(replace(inputs, facts=fleet_facts(None, inputs))):
        evidence = {"policy": policy.version, "filter": refusal.stage, "has": refusal.available}
        if refusal.reason is RefusalReason.OTHER_FLAVOR_ON_HOST:
            message = f"has instances of several flavors, {refusal.available}, and {refusal.stage} allows one"
            yield NeighbourFault(INVARIANT, host, message, evidence)
        else:
            message = f"holds {refusal.available} of at most {refusal.wanted} instances by {refusal.stage}"
            yield NeighbourFault(INVARIANT, host, message, {**evidence, "limit": refusal.wanted})


def _groups(instances: Sequence[Instance], policy: Policy) -> Iterator[NeighbourFault]:
    hosts = {one.pk: one.host for one in instances if one.host}
    members: dict[uuid.UUID, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for group_id, member in ServerGroupMember.objects.values_list("group_id", "instance_uuid"):
        if member in hosts:
            members[group_id][hosts[member]].append(str(member))
    for group in ServerGroup.objects.filter(pk__in=members).order_by("name", "pk"):
        yield from _of_group(group, members[group.pk], policy)


def _of_group(group: ServerGroup, by_host: Mapping[str, list[str]], policy: Policy) -> Iterator[NeighbourFault]:
    """The rule is the one that claims go by; of a group that has none, members may be anywhere."""
    snapshot = GroupSnapshot(str(group.pk), group.policy, group.rules)
    counts = {host: len(by_host[host]) for host in sorted(by_host)}
    evidence = {"policy": group.policy, "members": {host: sorted(by_host[host]) for host in counts}}
    for key, maximum in group_count_limits(snapshot, policy.filters).items():
        if is_together(key) and len(counts) > 1:
            where = ", ".join(f"{count} on {host}" for host, count in counts.items())
            message = f"is server group {group.name} of members that must be on one host, and has {where}"
            yield NeighbourFault(INVARIANT, str(group.pk), message, evidence)
        for host, count in counts.items():
            if count > maximum:
                message = f"is server group {group.name}, and has {count} of at most {maximum} members on {host}"
                yield NeighbourFault(INVARIANT, str(group.pk), message, evidence)
