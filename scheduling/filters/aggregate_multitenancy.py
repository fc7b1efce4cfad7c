"""AggregateMultiTenancyIsolation: hosts reserved for the projects that their aggregates name."""

from typing import ClassVar

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.hosts.aggregates import metadata_values, same_project
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter

TENANT_KEY = "filter_tenant_id"


class AggregateMultiTenancyIsolation(Filter):
    """Keys that start with `filter_tenant_id` (any suffix) list projects; if there are any, ours must be among them.

    It does not keep those projects away from hosts without the key.
    """

    run_filter_once_per_request: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts reserved for other projects."""
        aggregates, project = hosts.table.aggregates, spec.project_id

        def judge(members: tuple[int, ...]) -> Refusal | None:
            values = metadata_values(aggregates[each] for each in members)
            allowed = [values[key] for key in values if key.startswith(TENANT_KEY)]
            if not allowed or any(same_project(project, one) for projects in allowed for one in projects):
                return None
            return Refusal(RefusalReason.TENANT_NOT_ALLOWED, wanted=project)

        return hosts.refuse_by(hosts.table.aggregate_sets, judge)
