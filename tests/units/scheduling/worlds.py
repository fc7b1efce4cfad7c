"""Small fleets and requests for tests: everything that matters to a test is an argument of it."""

from typing import Any

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.policy import Policy, PolicyOptions, WeigherSetting
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.domain.request.resources import resource_request
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.trace import Trace
from scheduling.engine import (
    AggregateRow,
    FlavorSnapshot,
    GroupSnapshot,
    HostRow,
    HostTable,
    ImageSnapshot,
    InventoryRow,
    ScheduleRequest,
    host_table_from_rows,
    schedule,
)
from scheduling.filters.base import Filter
from scheduling.weighers.base import Weigher

ROOMY = {
    "VCPU": InventoryRow(16),
    "MEMORY_MB": InventoryRow(32768),
    "DISK_GB": InventoryRow(500),
}


def host(name: str, **changes: Any) -> HostRow:
    """A host with 16 vCPUs, 32 GiB, 500 GB; `vcpu`, `ram`, `disk` give its inventory rows."""
    inventories = dict(changes.pop("inventories", ROOMY))
    for key, resource_class in (("vcpu", "VCPU"), ("ram", "MEMORY_MB"), ("disk", "DISK_GB")):
        if key in changes:
            inventories[resource_class] = changes.pop(key)
    defaults: dict[str, Any] = {
        "nodename": f"{name}.lab",
        "uuid": f"uuid-{name}",
        "cell_uuid": "cell1",
        "inventories": inventories,
    }
    return HostRow(host=name, **{**defaults, **changes})


def aggregate(name: str, *hosts: str, **metadata: str) -> AggregateRow:
    """An aggregate; double underscores in a key stand for a colon."""
    return AggregateRow(f"agg-{name}", name, frozenset(hosts), {k.replace("__", ":"): v for k, v in metadata.items()})


def table(*rows: HostRow, aggregates: tuple[AggregateRow, ...] = ()) -> HostTable:
    """The table of these hosts."""
    return host_table_from_rows(rows, aggregates)


def flavor(**changes: Any) -> FlavorSnapshot:
    """2 vCPUs, 2 GiB, 10 GB."""
    return FlavorSnapshot(**{"id": "1", "name": "m1", "vcpus": 2, "memory_mib": 2048, "root_gib": 10, **changes})


def request(count: int = 1, **changes: Any) -> ScheduleRequest:
    """A batch of `count`; `specs` are the flavor's extra specs, `properties` the image's."""
    specs, properties = changes.pop("specs", {}), changes.pop("properties", {})
    defaults: dict[str, Any] = {
        "request_id": "req-1",
        "project_id": "project-1",
        "user_id": "user-1",
        "instance_uuids": tuple(f"new-{at}" for at in range(count)),
        "flavor": flavor(extra_specs=specs),
        "image": ImageSnapshot("image-1", "image", properties),
    }
    return ScheduleRequest(**{**defaults, **changes})


def group(policy: str, *, hosts: tuple[str, ...] = (), members: tuple[str, ...] = (), **rules: Any) -> GroupSnapshot:
    """A server group."""
    return GroupSnapshot("group-1", policy, rules, members, hosts)


def policy(*filters: str, weighers: dict[str, float | None] | None = None, **changes: Any) -> Policy:
    """A policy of just these filters and weighers (RAM alone unless given)."""
    settings = tuple(WeigherSetting(*item) for item in (weighers or {"RAMWeigher": 1.0}).items())
    return Policy(version="test-v1", filters=filters, weighers=settings, **changes)


def run(snapshot: HostTable, asked: ScheduleRequest, rules: Policy | None = None, seed: int = 1, **more: Any) -> Trace:
    """One run under a policy without filters unless given."""
    return schedule(ScheduleCall(snapshot, asked, rules or policy(), seed, **more))


def spec_of(asked: ScheduleRequest, options: PolicyOptions | None = None) -> RequestSpecView:
    """The request as filters see it."""
    return RequestSpecView(asked, resource_request(asked), options or PolicyOptions(), {}, group=asked.group)


def every(snapshot: HostTable, stage: str = "stage") -> Hosts:
    """All hosts of a table."""
    return Hosts(snapshot, np.arange(len(snapshot), dtype=np.int64), stage, {})


def refused(
    rule: Filter, snapshot: HostTable, asked: ScheduleRequest, options: PolicyOptions | None = None
) -> dict[str, Refusal]:
    """Host name to refusal, of one filter over all hosts."""
    groups = rule.refusals(every(snapshot, rule.name), spec_of(asked, options))
    return {snapshot.hosts[row]: one.refusal_at(at) for one in groups for at, row in enumerate(one.rows.tolist())}


def reasons(
    rule: Filter, snapshot: HostTable, asked: ScheduleRequest, options: PolicyOptions | None = None
) -> dict[str, RefusalReason]:
    """Host name to reason, of one filter over all hosts."""
    return {name: refusal.reason for name, refusal in refused(rule, snapshot, asked, options).items()}


def raw(weigher: Weigher, snapshot: HostTable, asked: ScheduleRequest | None = None) -> list[float]:
    """A weigher's raw values, by host in the order of names."""
    return weigher.raw(every(snapshot), spec_of(asked or request())).tolist()


def chosen(trace: Trace) -> list[str]:
    """The hosts of the batch, in its order."""
    return [each.selected.host for each in trace.selections]


def trace_reasons(trace: Trace) -> dict[str, RefusalReason]:
    """Host name to the reason of its first refusal, for all that were refused."""
    return {trace.hosts[row]: refusal.reason for row, refusal in trace.refusals()}
