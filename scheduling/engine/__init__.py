"""The heart of scheduling: `schedule(call) -> Trace`, a pure function over columns.

No Django, no database, no clock, and no randomness but the seed's.
"""

from scheduling.domain.hosts.candidates import CandidateSet
from scheduling.domain.hosts.host_rows import AggregateRow, HostRow, InventoryRow
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.policy import DEFAULT_POLICY, Policy, PolicyOptions, policy_from_dict, policy_to_dict
from scheduling.domain.request.schedule_request import (
    Destination,
    GroupSnapshot,
    ScheduleRequest,
    request_from_dict,
    request_to_dict,
)
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.domain.trace.codec import trace_from_dict, trace_to_dict
from scheduling.domain.trace.explanation import Explanation, why_not
from scheduling.domain.trace.trace import InstanceSelection, Outcome, Trace, TraceSelection
from scheduling.engine.candidate_set import candidate_set
from scheduling.engine.host_table import host_table_from_rows
from scheduling.engine.schedule import schedule, validate_policy

__all__ = [
    "DEFAULT_POLICY",
    "AggregateRow",
    "CandidateSet",
    "Destination",
    "Explanation",
    "FlavorSnapshot",
    "GroupSnapshot",
    "HostRow",
    "HostTable",
    "ImageSnapshot",
    "InstanceSelection",
    "InventoryRow",
    "Outcome",
    "Policy",
    "PolicyOptions",
    "ScheduleCall",
    "ScheduleRequest",
    "Trace",
    "TraceSelection",
    "candidate_set",
    "host_table_from_rows",
    "policy_from_dict",
    "policy_to_dict",
    "request_from_dict",
    "request_to_dict",
    "schedule",
    "trace_from_dict",
    "trace_to_dict",
    "validate_policy",
    "why_not",
]
