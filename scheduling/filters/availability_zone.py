"""AvailabilityZoneFilter: the zone asked for, by the host's aggregates. Source: Nova until 27; a request filter now."""

from typing import ClassVar

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.hosts.aggregates import metadata_values
from scheduling.domain.hosts.host_rows import ZONE_KEY
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter


class AvailabilityZoneFilter(Filter):
    """The zone asked for is among those of all the host's aggregates; without any, the host is in the default zone."""

    run_filter_once_per_request: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts in other zones. None where no zone is asked for."""
        wanted, default = spec.availability_zone, spec.options.default_availability_zone
        if not wanted:
            return []
        aggregates = hosts.table.aggregates

        def judge(members: tuple[int, ...]) -> Refusal | None:
            zones = metadata_values(aggregates[each] for each in members).get(ZONE_KEY, {default})
            if wanted in zones:
                return None
            return Refusal(RefusalReason.WRONG_ZONE, wanted=wanted, available=", ".join(sorted(zones)))

        return hosts.refuse_by(hosts.table.aggregate_sets, judge)
