"""Why a host is out already by the request filters, host by host, before room is judged.

Placement's search leaves these hosts out as well; here they get the reason in the words of the rule that did it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup, refuse_in_turn
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.domain.request.volume_needs import VolumeNeed, volumes_refusal
from scheduling.request_filters.base import Addition
from scheduling.request_filters.by_aggregates import require_tenant_aggregate
from scheduling.request_filters.by_feature import STATUS_DISABLED

HostsRule = Callable[[Hosts], list[RefusalGroup]]


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


def refuse_by_request(spec: RequestSpecView, additions: Mapping[str, Addition], hosts: Hosts) -> list[RefusalGroup]:
    """Compute status and availability zone, then what each request filter added, then what the request itself had."""
    rules: list[HostsRule] = [_refuse_disabled]
    if spec.availability_zone:
        rules.append(partial(_refuse_zone, spec.availability_zone, spec.options.default_availability_zone))
    tenant = additions.get(require_tenant_aggregate.__name__)
    if tenant is not None:
        rules.append(partial(_refuse_tenant, spec.project_id, tenant.member_of[0]))
    if spec.request.forbidden_aggregates:
        rules.append(partial(_refuse_inside, spec.request.forbidden_aggregates))
    rules += [partial(_refuse_lacking, one.required, name) for name, one in additions.items() if one.required]
    rules.append(partial(_refuse_lacking, spec.request.root_required, ""))
    if spec.request.volumes:
        rules.append(partial(_refuse_volumes, spec.request.volumes))
    rules.append(partial(_refuse_having, spec.request.root_forbidden - {STATUS_DISABLED}))
    return refuse_in_turn(hosts, rules)


def _refuse_disabled(hosts: Hosts) -> list[RefusalGroup]:
    """Hosts that an operator disabled, or that have the trait in which Nova mirrors that."""
    table = hosts.table
    marked = np.array([STATUS_DISABLED in traits for traits in table.trait_sets.values], dtype=np.bool_)
    off = ~hosts.of(table.enabled) | marked[hosts.of(table.trait_sets.codes)]
    return hosts.where(off).refuse_by(
        table.status_detail, lambda detail: Refusal(RefusalReason.DISABLED, detail=detail)
    )


def _refuse_zone(wanted: str, default: str, hosts: Hosts) -> list[RefusalGroup]:
    """A host in no zone is in the default one. Stricter than Nova's, where the default zone means any host."""

    def judge(zone: str | None) -> Refusal | None:
        here = zone or default
        return None if here == wanted else Refusal(RefusalReason.WRONG_ZONE, wanted=wanted, available=here)

    return hosts.refuse_by(hosts.table.zones, judge)


def _refuse_tenant(project: str, own: frozenset[str], hosts: Hosts) -> list[RefusalGroup]:
    inside = _positions(hosts, own)

    def judge(members: tuple[int, ...]) -> Refusal | None:
        return None if inside.intersection(members) else Refusal(RefusalReason.TENANT_NOT_ALLOWED, wanted=project)

    return hosts.refuse_by(hosts.table.aggregate_sets, judge)


def _refuse_inside(forbidden: frozenset[str], hosts: Hosts) -> list[RefusalGroup]:
    names = {at: hosts.table.aggregates[at].name for at in _positions(hosts, forbidden)}

    def judge(members: tuple[int, ...]) -> Refusal | None:
        there = sorted(names[at] for at in members if at in names)
        return Refusal(RefusalReason.AGGREGATE_ISOLATED, available=", ".join(there)) if there else None

    return hosts.refuse_by(hosts.table.aggregate_sets, judge)


def _refuse_lacking(required: frozenset[str], rule: str, hosts: Hosts) -> list[RefusalGroup]:
    """`rule` is the request filter that wants them, said along with the refusal."""

    def judge(traits: frozenset[str]) -> Refusal | None:
        missing = ", ".join(sorted(required - traits))
        return Refusal(RefusalReason.TRAIT_MISSING, wanted=missing, detail=rule) if missing else None

    return hosts.refuse_by(hosts.table.trait_sets, judge) if required else []


def _refuse_volumes(needs: tuple[VolumeNeed, ...], hosts: Hosts) -> list[RefusalGroup]:
    return hosts.refuse_by(hosts.table.trait_sets, partial(volumes_refusal, needs))


def _refuse_having(forbidden: frozenset[str], hosts: Hosts) -> list[RefusalGroup]:
    def judge(traits: frozenset[str]) -> Refusal | None:
        unwanted = ", ".join(sorted(forbidden & traits))
        return Refusal(RefusalReason.TRAIT_FORBIDDEN, wanted=unwanted) if unwanted else None

    return hosts.refuse_by(hosts.table.trait_sets, judge) if forbidden else []


def _positions(hosts: Hosts, uuids: frozenset[str]) -> frozenset[int]:
    return frozenset(at for at, each in enumerate(hosts.table.aggregates) if each.uuid in uuids)
