"""What narrows the fleet before room is looked at: lost claims, disabled hosts, zone, tenant aggregates."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.hosts import Hosts, RefusalGroup, refuse_in_turn
from scheduling.domain.request_spec import RequestSpec

STATUS_DISABLED = "COMPUTE_STATUS_DISABLED"
TENANT_KEY = "filter_tenant_id"


def refuse_lost(claims_lost: Mapping[str, Refusal], hosts: Hosts) -> list[RefusalGroup]:
    """Hosts (by provider uuid) whose claim failed in an earlier pass of this decision."""
    by_row = {
        hosts.table.row_by_uuid[uuid]: refusal
        for uuid, refusal in claims_lost.items()
        if uuid in hosts.table.row_by_uuid
    }
    return [
        RefusalGroup(replace(refusal, stage=hosts.stage), np.array([row], dtype=np.int64))
        for row, refusal in sorted(by_row.items())
    ]


def refuse_by_request(spec: RequestSpec, hosts: Hosts) -> list[RefusalGroup]:
    """Nova's request filters: compute status, availability zone, tenant aggregates."""
    rules = [_refuse_disabled]
    if spec.availability_zone:
        rules.append(partial(_refuse_zone, spec.availability_zone, spec.options.default_availability_zone))
    if spec.options.limit_tenants_to_placement_aggregate:
        rules.append(partial(_refuse_tenant, spec))
    return refuse_in_turn(hosts, rules)


def _refuse_disabled(hosts: Hosts) -> list[RefusalGroup]:
    """Disabled by an operator, or marked so by the trait that Nova mirrors it in."""
    table = hosts.table
    marked = np.array([STATUS_DISABLED in traits for traits in table.trait_sets.values], dtype=np.bool_)
    off = ~hosts.of(table.enabled) | marked[hosts.of(table.trait_sets.codes)]
    return hosts.where(off).refuse_by(
        table.status_detail, lambda detail: Refusal(RefusalReason.DISABLED, detail=detail)
    )


def _refuse_zone(wanted: str, default: str, hosts: Hosts) -> list[RefusalGroup]:
    def judge(zone: str | None) -> Refusal | None:
        here = zone or default
        return None if here == wanted else Refusal(RefusalReason.WRONG_ZONE, wanted=wanted, available=here)

    return hosts.refuse_by(hosts.table.zones, judge)


def _refuse_tenant(spec: RequestSpec, hosts: Hosts) -> list[RefusalGroup]:
    """The project's own aggregates, by exact value (unlike the filter, no list); without any, all hosts if allowed."""
    project, aggregates = spec.project_id, hosts.table.aggregates
    own = {
        at
        for at, each in enumerate(aggregates)
        if any(key.startswith(TENANT_KEY) and value == project for key, value in each.metadata.items())
    }
    if not own and not spec.options.placement_aggregate_required_for_tenants:
        return []

    def judge(members: tuple[int, ...]) -> Refusal | None:
        return None if own.intersection(members) else Refusal(RefusalReason.TENANT_NOT_ALLOWED, wanted=project)

    return hosts.refuse_by(hosts.table.aggregate_sets, judge)
