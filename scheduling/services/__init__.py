"""What other apps may ask of the scheduler and of the fleet."""

from scheduling.models import CELL0_ID, CELL1_ID
from scheduling.selectors.facts import FleetFacts, HostFacts
from scheduling.services.aggregates import (
    aggregate_create,
    aggregate_delete,
    aggregate_host_add,
    aggregate_host_remove,
    aggregate_update,
)
from scheduling.services.builds import build_failure_count, build_failure_reset, build_failures_round
from scheduling.services.cells import cell_set_disabled, cells_ensure
from scheduling.services.destinations import alternate_claim, destinations_select
from scheduling.services.errors import ClaimsExhausted, HostInUse, NoValidHost, ZoneConflict
from scheduling.services.hosts import host_delete, host_register, host_usage_report, service_heartbeat
from scheduling.services.policies import policy_activate, policy_create, policy_deactivate
from scheduling.services.reports import HostRegistration, HypervisorReport, UsageReport
from scheduling.services.selections import (
    Destinations,
    InstanceDestination,
    Selection,
    selection_from_json,
    selection_to_json,
)
from scheduling.services.service_states import service_disable, service_enable, service_force_down
from scheduling.services.topology_claims import claims_free, devices_allocate

__all__ = [
    "CELL0_ID",
    "CELL1_ID",
    "ClaimsExhausted",
    "Destinations",
    "FleetFacts",
    "HostFacts",
    "HostInUse",
    "HostRegistration",
    "HypervisorReport",
    "InstanceDestination",
    "NoValidHost",
    "Selection",
    "UsageReport",
    "ZoneConflict",
    "aggregate_create",
    "aggregate_delete",
    "aggregate_host_add",
    "aggregate_host_remove",
    "aggregate_update",
    "alternate_claim",
    "build_failure_count",
    "build_failure_reset",
    "build_failures_round",
    "cell_set_disabled",
    "cells_ensure",
    "claims_free",
    "destinations_select",
    "devices_allocate",
    "host_delete",
    "host_register",
    "host_usage_report",
    "policy_activate",
    "policy_create",
    "policy_deactivate",
    "selection_from_json",
    "selection_to_json",
    "service_disable",
    "service_enable",
    "service_force_down",
    "service_heartbeat",
]
