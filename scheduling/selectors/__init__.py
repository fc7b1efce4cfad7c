"""What other apps may ask: hosts, zones, decisions, liveness. A constant number of queries each."""

from scheduling.selectors.attestation import trust_levels
from scheduling.selectors.decision_report import decision_report, explanation_report
from scheduling.selectors.decisions import (
    decision_content,
    decision_get,
    decision_list,
    decision_trace,
    decision_why_not,
    decisions_of_instance,
)
from scheduling.selectors.facts import FleetFacts, HostFacts
from scheduling.selectors.hosts import (
    FleetStats,
    HostOverview,
    fleet_stats,
    host_exists,
    host_get,
    host_list,
    host_nodes,
    host_overviews,
    host_takes_new_instances,
    hosts_schedulable_count,
)
from scheduling.selectors.liveness import host_is_forced_down, host_is_up
from scheduling.selectors.policies import attempts_allowed, policy_active
from scheduling.selectors.zones import Zone, zone_exists, zone_list, zone_of_host, zones_by_host

__all__ = [
    "FleetFacts",
    "FleetStats",
    "HostFacts",
    "HostOverview",
    "Zone",
    "attempts_allowed",
    "decision_content",
    "decision_get",
    "decision_list",
    "decision_report",
    "decision_trace",
    "decision_why_not",
    "decisions_of_instance",
    "explanation_report",
    "fleet_stats",
    "host_exists",
    "host_get",
    "host_is_forced_down",
    "host_is_up",
    "host_list",
    "host_nodes",
    "host_overviews",
    "host_takes_new_instances",
    "hosts_schedulable_count",
    "policy_active",
    "trust_levels",
    "zone_exists",
    "zone_list",
    "zone_of_host",
    "zones_by_host",
]
