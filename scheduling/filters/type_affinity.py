"""Hosts of one flavor: one flavor at a time on a host, or the flavors that an aggregate names."""

from typing import ClassVar

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.hosts.aggregates import metadata_values
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter

FLAVOR_KEY = "instance_type"


class TypeAffinityFilter(Filter):
    """All instances on the host have the flavor asked for, by id, or there are none. Source: Nova until 16."""

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts with instances of other flavors."""
        wanted = spec.flavor.id

        def judge(flavors: frozenset[str]) -> Refusal | None:
            others = sorted(flavors - {wanted})
            if not others:
                return None
            return Refusal(RefusalReason.OTHER_FLAVOR_ON_HOST, wanted=wanted, available=", ".join(others))

        return hosts.refuse_by(hosts.table.flavor_sets, judge)


class AggregateTypeAffinityFilter(Filter):
    """Where the host's aggregates have `instance_type`, the flavor's name is in one of the comma-separated lists."""

    run_filter_once_per_request: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts reserved for other flavors."""
        aggregates, wanted = hosts.table.aggregates, spec.flavor.name

        def judge(members: tuple[int, ...]) -> Refusal | None:
            names = metadata_values(aggregates[each] for each in members).get(FLAVOR_KEY)
            if names is None or wanted in names:
                return None
            return Refusal(RefusalReason.FLAVOR_NOT_ALLOWED, wanted=wanted, available=", ".join(sorted(names)))

        return hosts.refuse_by(hosts.table.aggregate_sets, judge)
