"""Rows of the fleet and of its scheduler. Private to this app: others use its services and selectors."""

from scheduling.models.aggregate import Aggregate, AggregateHost
from scheduling.models.cell import CELL0_ID, CELL1_ID, Cell
from scheduling.models.compute_node import ComputeNode
from scheduling.models.decision import DecisionInstance, DecisionOutcome, SchedulingDecision
from scheduling.models.host_mapping import HostMapping
from scheduling.models.policy import SchedulerPolicy
from scheduling.models.service import COMPUTE_BINARY, Service

__all__ = [
    "CELL0_ID",
    "CELL1_ID",
    "COMPUTE_BINARY",
    "Aggregate",
    "AggregateHost",
    "Cell",
    "ComputeNode",
    "DecisionInstance",
    "DecisionOutcome",
    "HostMapping",
    "SchedulerPolicy",
    "SchedulingDecision",
    "Service",
]
