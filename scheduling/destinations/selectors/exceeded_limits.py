"""Hosts that hold more than the active policy lets one have, for the audit: the filters say what that is."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.destinations.selectors.inputs import SchedulingInputs
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.neighbours import TYPE_AFFINITY
from scheduling.domain.policy import Policy
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.domain.request.resources import resource_request
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.filters.num_instances import AggregateNumInstancesFilter, NumInstancesFilter
from scheduling.filters.registry import filter_get
from scheduling.fleet.cache.fleet_cache import fleet_cache
from scheduling.fleet.selectors.candidates import placement_view

NUMBERS = (NumInstancesFilter.__name__, AggregateNumInstancesFilter.__name__)


class Exceeded(NamedTuple):
    """A service host, and what it has (`available`) of at most so many (`wanted`), as its filter would say it."""

    host: str
    refusal: Refusal


def limits_exceeded(inputs: SchedulingInputs) -> list[Exceeded]:
    """Each host that is above its number of instances, or has several flavors where it may have one.

    A number of builds is no state that lasts, and owners begin some of those operations without any scheduler.
    """
    policy = inputs.policies.policy()
    names = [name for name in NUMBERS if name in policy.filters]
    found = list(_flavors(inputs)) if TYPE_AFFINITY in policy.filters else []
    if names:
        cache = fleet_cache()
        with cache.refreshed(inputs.poll):
            table = cache.table(placement_view(), inputs.facts).table
        found += [one for name in names for one in _numbers(table, policy, name)]
    return sorted(set(found), key=lambda one: (one.host, one.refusal.reason))


def _numbers(table: HostTable, policy: Policy, name: str) -> Iterator[Exceeded]:
    asked = ScheduleRequest("", "", "", ("",), FlavorSnapshot(id="", name="", vcpus=1, memory_mib=1, root_gib=0))
    spec = RequestSpecView(asked, resource_request(asked), policy.options, {})
    for group in filter_get(name).refusals(Hosts(table, np.arange(len(table)), name, {}), spec):
        for at, row in enumerate(group.rows.tolist()):
            refusal = group.refusal_at(at)
            if int(refusal.available or 0) > int(refusal.wanted or 0):
                yield Exceeded(table.hosts[row], refusal)


def _flavors(inputs: SchedulingInputs) -> Iterator[Exceeded]:
    for host, facts in inputs.facts.hosts.items():
        if len(facts.flavor_ids) > 1:
            flavors = ", ".join(sorted(facts.flavor_ids))
            refusal = Refusal(RefusalReason.OTHER_FLAVOR_ON_HOST, wanted="", available=flavors, stage=TYPE_AFFINITY)
            yield Exceeded(host, refusal)
