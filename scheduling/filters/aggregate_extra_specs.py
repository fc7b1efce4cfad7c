"""AggregateInstanceExtraSpecsFilter: the flavor's extra specs against the metadata of the host's aggregates."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import ClassVar

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.hosts.aggregates import metadata_values
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup, refuse_in_turn
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter
from scheduling.filters.extra_specs_ops import match

SCOPE = "aggregate_instance_extra_specs"
# Keys without a namespace that Nova itself defines; they were never meant for aggregates.
OWN_KEYS = frozenset({"hide_hypervisor_id", "group_policy"})


class AggregateInstanceExtraSpecsFilter(Filter):
    """Every key without namespace, or in `aggregate_instance_extra_specs:`, must exist in the aggregates' metadata,
    and at least one of its comma-separated values must satisfy the operator expression. Other namespaces are ignored.
    """

    run_filter_once_per_request: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts whose aggregates lack a key or have no fitting value, the first such key named."""
        rules = [partial(_refused, key, wanted) for key, wanted in _in_scope(spec.flavor.extra_specs)]
        return refuse_in_turn(hosts, rules)


def _in_scope(extra_specs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key, wanted in extra_specs.items():
        scope, separator, rest = key.partition(":")
        if not separator and key not in OWN_KEYS:
            yield key, wanted
        elif separator and scope == SCOPE:
            yield rest, wanted


def _refused(key: str, wanted: str, hosts: Hosts) -> list[RefusalGroup]:
    aggregates, asked = hosts.table.aggregates, f"{key} {wanted}"

    def judge(members: tuple[int, ...]) -> Refusal | None:
        values = metadata_values(aggregates[each] for each in members).get(key)
        if values is None:
            return Refusal(RefusalReason.AGGREGATE_METADATA_MISSING, wanted=asked)
        if any(_matches(value, wanted) for value in values):
            return None
        had = ", ".join(sorted(values))
        return Refusal(RefusalReason.AGGREGATE_METADATA_MISMATCH, wanted=asked, available=had)

    return hosts.refuse_by(hosts.table.aggregate_sets, judge)


def _matches(value: str, wanted: str) -> bool:
    try:
        return match(value, wanted)
    except ValueError:
        # Text compared as a number: Nova fails the whole request here; a host that has no number does not fit.
        return False
