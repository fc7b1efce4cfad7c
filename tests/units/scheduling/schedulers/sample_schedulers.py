"""Schedulers as other people write them: good ones, and all kinds of nonsense."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from scheduling.domain.hosts.host_slice import RefusalGroup
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.policy import Policy
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.trace import InstanceSelection, Outcome, Trace, TraceSelection
from scheduling.schedulers import FilterScheduler, schedule


class Alphabet:
    """From scratch, inheriting from nothing: the first hosts of the table, one instance each."""

    def schedule(self, call: ScheduleCall) -> Trace:
        table, request, flavor = call.table, call.request, call.request.flavor
        return Trace(
            request_id=request.request_id,
            policy_version=call.policy.version,
            seed=call.seed,
            outcome=Outcome.SELECTED,
            instance_count=len(request.instance_uuids),
            hosts=table.hosts,
            nodes=table.nodes,
            resources={"VCPU": flavor.vcpus, "MEMORY_MB": flavor.memory_mib, "DISK_GB": flavor.root_gib},
            rounds=(),
            selections=tuple(
                InstanceSelection(uuid, selection(table, row)) for row, uuid in enumerate(request.instance_uuids)
            ),
            verdict="by the alphabet",
            verdict_redacted="by the alphabet",
        )


def selection(table: HostTable, row: int, **changes: Any) -> TraceSelection:
    """A row of the table as a choice."""
    values = {
        "host": table.hosts[row],
        "nodename": table.nodes[row],
        "compute_node_uuid": table.uuids[row],
        "cell_uuid": table.cells[row],
        "availability_zone": "nova",
    }
    return TraceSelection(**{**values, **changes})


class NoFilters(FilterScheduler):
    """Bends the policy."""

    def rules(self, policy: Policy) -> Policy:
        return replace(policy, filters=())


class _Bent:
    """The engine's plan, bent by `bend`."""

    def schedule(self, call: ScheduleCall) -> Any:
        return self.bend(schedule(call), call.table)

    def bend(self, trace: Trace, table: HostTable) -> Any:
        raise NotImplementedError


def _first(trace: Trace, **changes: Any) -> Trace:
    one, *others = trace.selections
    return replace(trace, selections=(replace(one, selected=replace(one.selected, **changes)), *others))


class UnknownHost(_Bent):
    def bend(self, trace: Trace, table: HostTable) -> Any:
        return _first(trace, host="elsewhere")


class UnknownNode(_Bent):
    def bend(self, trace: Trace, table: HostTable) -> Any:
        return _first(trace, compute_node_uuid="uuid-elsewhere")


class OtherTable(_Bent):
    def bend(self, trace: Trace, table: HostTable) -> Any:
        return replace(trace, hosts=("elsewhere", *trace.hosts[1:]))


class TooMany(_Bent):
    def bend(self, trace: Trace, table: HostTable) -> Any:
        return replace(trace, selections=trace.selections * 2)


class TooFew(_Bent):
    def bend(self, trace: Trace, table: HostTable) -> Any:
        return replace(trace, selections=trace.selections[1:])


class Twice(_Bent):
    def bend(self, trace: Trace, table: HostTable) -> Any:
        return replace(trace, selections=(trace.selections[0], trace.selections[0]))


class NotATrace(_Bent):
    def bend(self, trace: Trace, table: HostTable) -> Any:
        return {"host": "h0"}


class Nothing(_Bent):
    def bend(self, trace: Trace, table: HostTable) -> Any:
        return None


class Cheap(_Bent):
    """Would claim less than the instance needs."""

    def bend(self, trace: Trace, table: HostTable) -> Any:
        return replace(trace, resources={"VCPU": 1})


class CheapOnOne(_Bent):
    def bend(self, trace: Trace, table: HostTable) -> Any:
        return _first(trace, allocations={trace.selections[0].selected.compute_node_uuid: {"VCPU": 1}})


class NotANumber(_Bent):
    def bend(self, trace: Trace, table: HostTable) -> Any:
        return _first(trace, score=float("nan"))


class LimitsNoJson(_Bent):
    def bend(self, trace: Trace, table: HostTable) -> Any:
        return _first(trace, limits={"when": object()})


class RowsBeyond(_Bent):
    def bend(self, trace: Trace, table: HostTable) -> Any:
        first = trace.rounds[0]
        group = RefusalGroup(first.refusals[0].refusal, np.array([99], dtype=np.int64))
        return replace(trace, rounds=(replace(first, refusals=(group,)), *trace.rounds[1:]))


class OtherSeed(_Bent):
    def bend(self, trace: Trace, table: HostTable) -> Any:
        return replace(trace, seed=trace.seed + 1)


class ContradictsItself(_Bent):
    def bend(self, trace: Trace, table: HostTable) -> Any:
        return replace(trace, outcome=Outcome.NO_VALID_HOST)


class FarAlternate(_Bent):
    """An alternate in another cell."""

    def bend(self, trace: Trace, table: HostTable) -> Any:
        far = selection(table, table.hosts.index("z-far"))
        one, *others = trace.selections
        return replace(trace, selections=(replace(one, alternates=(far,)), *others))


class Raising:
    def schedule(self, call: ScheduleCall) -> Trace:
        raise KeyError("no such key")


class Exiting:
    def schedule(self, call: ScheduleCall) -> Trace:
        sys.exit("enough")


class Recursing:
    def schedule(self, call: ScheduleCall) -> Trace:
        return self.schedule(call)


class Speechless:
    """Raises what cannot even be shown."""

    def schedule(self, call: ScheduleCall) -> Trace:
        class Mute(Exception):
            def __repr__(self) -> str:
                raise ValueError

        raise Mute


class WrongRules(FilterScheduler):
    def rules(self, policy: Policy) -> Any:
        return ("ComputeFilter",)


class Unaged(FilterScheduler):
    def view_age_s(self, policy: Policy) -> float:
        return float("nan")


class NoScheduler:
    """No method at all."""


class Exploding:
    def __init__(self) -> None:
        sys.exit(3)


def answers(trace: Trace) -> Mapping[str, str]:
    """Instance to host."""
    return {each.instance_uuid: each.selected.host for each in trace.selections}
