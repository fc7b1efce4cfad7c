"""Settings of the fleet and of the scheduler. Memory is in MiB, disk in GiB, times are in seconds."""

from dataclasses import dataclass

from controlplane.infra.conf import options_now
from controlplane.kernel.settings import setting
from controlplane.kernel.texts import phrase as _
from scheduling.domain.policy import MAX_ATTEMPTS
from scheduling.domain.zone_names import zone_name_problem


@dataclass(frozen=True, slots=True)
class SchedulingOptions:
    """Ratios are Nova's initial ones: a new inventory starts with them, later edits in Placement stay."""

    report_interval_s: float = setting(10.0, _("Seconds between heartbeats of an agent."), min_value=0.1)
    service_down_time_s: float = setting(
        60.0, _("An agent silent for longer than this many seconds counts as down."), min_value=0.5
    )
    metrics_max_age_s: float = setting(
        180.0,
        _(
            "Seconds after which what a host measured of itself (CPU, memory, disk, network) is believed no "
            "more. Agents measure once a minute."
        ),
        min_value=1,
    )
    clock_skew_warning_s: float = setting(
        2.0,
        _("Seconds by which a host's clock may differ from the control plane's without a warning."),
        min_value=0.01,
    )
    max_attempts: int = setting(
        3,
        _("Hosts tried for one instance, the first included, where no policy is active."),
        min_value=1,
        max_value=MAX_ATTEMPTS,
    )
    claim_rounds: int = setting(
        10, _("How often a batch is scheduled anew when others take the room first."), min_value=1
    )
    default_zone: str = setting(
        "nova",
        _("Zone of hosts that are in no aggregate with a zone."),
        problem=lambda name: (
            _("must be the name of a zone: {problem}", problem=problem) if (problem := zone_name_problem(name)) else ""
        ),
    )
    initial_cpu_allocation_ratio: float = setting(
        4.0, _("vCPUs promised per physical one, for hosts that register anew."), min_value=0.1
    )
    initial_ram_allocation_ratio: float = setting(
        1.0, _("Memory promised per MiB there is, for new hosts."), min_value=0.1
    )
    initial_disk_allocation_ratio: float = setting(
        1.0, _("Disk promised per GiB there is, for hosts that register anew."), min_value=0.1
    )
    reserved_host_cpus: int = setting(0, _("vCPUs of each host that instances never get."))
    reserved_host_memory_mib: int = setting(512, _("Memory of each host, in MiB, that instances never get."))
    reserved_host_disk_gib: int = setting(0, _("Disk of each host, in GiB, that instances never get."))
    limit_tenants_to_placement_aggregate: bool = setting(
        False,
        _("Whether a project named in an aggregate's filter_tenant_id gets hosts of such aggregates only."),
    )
    placement_aggregate_required_for_tenants: bool = setting(
        False, _("With the one above: whether a project that no aggregate names gets no host at all.")
    )
    query_placement_for_image_type_support: bool = setting(
        False, _("Whether only hosts with the trait of the image's disk format are asked for.")
    )
    enable_isolated_aggregate_filtering: bool = setting(
        False, _("Whether an aggregate with trait:X=required is kept for flavors and images that require X.")
    )
    image_metadata_prefilter: bool = setting(
        False,
        _("Whether only hosts with the traits of the devices that the image's properties name are asked for."),
    )
    query_placement_for_routed_network_aggregates: bool = setting(
        False,
        _(
            "Whether only hosts in the aggregates of a routed network's segments are asked for. Networks here have no "
            "segments, so that it changes nothing, and manage.py check says so."
        ),
    )
    scheduler_plugin_modules: tuple[str, ...] = setting(
        (),
        _(
            "Modules, with all below them, from which policies may name filters, weighers and schedulers by "
            "dotted path; empty: only our own and those that installed packages declare as entry points."
        ),
    )
    pci_aliases: str = setting(
        "",
        _(
            "Names for kinds of PCI devices, for flavors to ask for by pci_passthrough:alias: JSON, the form of "
            'Nova\'s [pci]alias: [{"name": "gpu", "vendor_id": "10de", "product_id": "1eb8"}].'
        ),
    )
    attestation_url: str = setting(
        "", _("Attestation service (https://host:port/path) that TrustedFilter believes; empty: none.")
    )
    attestation_auth_blob: str = setting("", _("What the attestation service knows us by."))
    attestation_ca_file: str = setting(
        "", _("Certificates that vouch for the attestation service; empty: the system's.")
    )
    attestation_lifetime_s: float = setting(60.0, _("Seconds for which what the attestation service found counts."))
    attestation_timeout_s: float = setting(
        5.0, _("Seconds that the attestation service may take to answer."), min_value=0.1
    )
    build_failures_disable: int = setting(
        10,
        _("Failed builds, all by a host's own fault, at which the host gets no new instances; 0: any number."),
    )
    build_failures_half_life_s: float = setting(
        1800.0,
        _(
            "Seconds without another one after which a host's failed builds count half; below the limit, a host that "
            "they disabled is enabled again. 0: they count until a build works."
        ),
    )
    decision_max_bytes: int = setting(
        8192,
        _("Bytes that the stored trace of one decision may take; above it the trace is cut to what matters most."),
        min_value=1024,
    )
    decision_snapshot_bytes: int = setting(
        2048,
        _(
            "Bytes that one decision may add for the fleet it saw, before a new base is written; 0: fleets are "
            "not kept."
        ),
    )
    decision_snapshot_days: float = setting(
        7.0,
        _("Days for which the fleets that decisions saw are kept, for replays; 0: as long as the decisions."),
    )
    decision_retention_days: float = setting(30.0, _("Days for which decisions are kept; 0: for ever."))
    decision_retention_count: int = setting(100_000, _("How many of the newest decisions are kept; 0: any number."))


def scheduling_options() -> SchedulingOptions:
    """The options as settings have them now."""
    return options_now(SchedulingOptions)
