"""Options of the fleet and of the scheduler: settings.KILONOVA read once into a frozen object."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from django.conf import settings


@dataclass(frozen=True, slots=True)
class SchedulingOptions:
    """Names in settings.KILONOVA are these in capitals. Memory MiB, disk GiB, times seconds.

    Ratios are Nova's initial ones: a new inventory starts with them, later edits in Placement stay.
    """

    report_interval_s: float = 10.0
    service_down_time_s: float = 60.0
    max_attempts: int = 3
    default_zone: str = "nova"
    initial_cpu_allocation_ratio: float = 4.0
    initial_ram_allocation_ratio: float = 1.0
    initial_disk_allocation_ratio: float = 1.0
    reserved_host_cpus: int = 0
    reserved_host_memory_mib: int = 512
    reserved_host_disk_gib: int = 0
    limit_tenants_to_placement_aggregate: bool = False
    placement_aggregate_required_for_tenants: bool = False
    query_placement_for_image_type_support: bool = False
    enable_isolated_aggregate_filtering: bool = False
    image_metadata_prefilter: bool = False
    query_placement_for_routed_network_aggregates: bool = False
    claim_rounds: int = 10
    pci_aliases: str = ""
    scheduler_plugin_modules: tuple[str, ...] = ()
    attestation_url: str = ""
    attestation_auth_blob: str = ""
    attestation_ca_file: str = ""
    attestation_lifetime_s: float = 60.0
    attestation_timeout_s: float = 5.0
    decision_max_bytes: int = 8192
    decision_snapshot_bytes: int = 2048
    decision_snapshot_days: float = 7.0
    decision_retention_days: float = 30.0
    decision_retention_count: int = 100_000


_READ: list[tuple[Mapping[str, Any], SchedulingOptions]] = []


def scheduling_options() -> SchedulingOptions:
    """The options as settings have them now; read anew whenever these are replaced, as tests do."""
    given: Mapping[str, Any] = settings.KILONOVA
    for known, options in _READ:
        if known is given:
            return options
    names = (field.name for field in fields(SchedulingOptions))
    options = SchedulingOptions(**{name: given[name.upper()] for name in names if name.upper() in given})
    _READ[:] = [(given, options)]
    return options
