"""What keys of an aggregate's metadata mean here. Others are the operator's own, for flavors and images to ask for."""

from controlplane.kernel.texts import gettext_noop
from scheduling.domain.hosts.host_rows import ZONE_KEY
from scheduling.filters import aggregate_multitenancy, core, disk, io_ops, num_instances, ram, type_affinity

METADATA_KEYS: dict[str, tuple[str, str]] = {
    ZONE_KEY: (
        gettext_noop("The hosts are in this availability zone. A host is in one zone at most."),
        gettext_noop("a name without a colon"),
    ),
    aggregate_multitenancy.TENANT_KEY: (
        gettext_noop("Only these projects get instances here, where the filter or the request filter for it is on."),
        gettext_noop("ids of projects, with commas between"),
    ),
    type_affinity.FLAVOR_KEY: (
        gettext_noop("Only these flavors get instances here, with AggregateTypeAffinityFilter."),
        gettext_noop("names of flavors, with commas between"),
    ),
    num_instances.LIMIT_KEY: (
        gettext_noop("The most instances on one of its hosts, with AggregateNumInstancesFilter."),
        gettext_noop("a whole number"),
    ),
    io_ops.LIMIT_KEY: (
        gettext_noop(
            "The most builds, resizes and snapshots at a time on one of its hosts, with AggregateIoOpsFilter."
        ),
        gettext_noop("a whole number"),
    ),
    core.RATIO_KEY: (
        gettext_noop("vCPUs for each CPU of its hosts, with AggregateCoreFilter."),
        gettext_noop("a number"),
    ),
    ram.RATIO_KEY: (
        gettext_noop("Memory promised for each MiB of its hosts, with AggregateRamFilter."),
        gettext_noop("a number"),
    ),
    disk.RATIO_KEY: (
        gettext_noop("Disk promised for each GiB of its hosts, with AggregateDiskFilter."),
        gettext_noop("a number"),
    ),
}
"""By key: what it does, and what its value must be."""
