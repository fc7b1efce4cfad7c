"""Rows of the fleet and of its scheduler. Private to this app: others use its services and selectors."""

from scheduling.models.aggregate import Aggregate, AggregateHost
from scheduling.models.build_failures import BuildFailures
from scheduling.models.cell import Cell
from scheduling.models.compute_node import ComputeNode
from scheduling.models.decision import DecisionInstance, DecisionOutcome, SchedulingDecision
from scheduling.models.decision_index import DecisionReason, DecisionRefusedHosts
from scheduling.models.fleet_change import FleetChange
from scheduling.models.fleet_snapshot import FleetSnapshot, HostNames
from scheduling.models.host_mapping import HostMapping
from scheduling.models.host_usage_sample import HostUsageSample
from scheduling.models.pci_device import PciDevice
from scheduling.models.policy import SchedulerPolicy
from scheduling.models.service import COMPUTE_BINARY, Service
from scheduling.models.shadow_result import SHADOW_ERROR, ShadowResult
from scheduling.models.topology_claim import TopologyClaim

__all__ = [
    "COMPUTE_BINARY",
    "SHADOW_ERROR",
    "Aggregate",
    "AggregateHost",
    "BuildFailures",
    "Cell",
    "ComputeNode",
    "DecisionInstance",
    "DecisionOutcome",
    "DecisionReason",
    "DecisionRefusedHosts",
    "FleetChange",
    "FleetSnapshot",
    "HostMapping",
    "HostNames",
    "HostUsageSample",
    "PciDevice",
    "SchedulerPolicy",
    "SchedulingDecision",
    "Service",
    "ShadowResult",
    "TopologyClaim",
]
