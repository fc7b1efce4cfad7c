"""A filter as it is written for Nova: it logs all that a host state shows, and what the request wants, and passes.

Only the imports are ours. Nova's are:

    from oslo_log import log as logging
    from nova.scheduler import filters            # and filters.BaseHostFilter below
"""

import logging

from scheduling import filters

LOG = logging.getLogger(__name__)


class DumpFilter(filters.BaseHostFilter):
    """Lets every host pass, and says what it saw."""

    def host_passes(self, host_state, spec_obj):  # type: ignore[no-untyped-def]
        """Log one line for each attribute, then pass."""
        LOG.info("request wants memory_mb=%s vcpus=%s", spec_obj.memory_mb, spec_obj.vcpus)
        seen = [
            ("host", host_state.host),
            ("nodename", host_state.nodename),
            ("updated", host_state.updated),
            ("total_usable_ram_mb", host_state.total_usable_ram_mb),
            ("total_usable_disk_gb", host_state.total_usable_disk_gb),
            ("disk_mb_used", host_state.disk_mb_used),
            ("free_ram_mb", host_state.free_ram_mb),
            ("free_disk_mb", host_state.free_disk_mb),
            ("vcpus_total", host_state.vcpus_total),
            ("vcpus_used", host_state.vcpus_used),
            ("pci_stats", host_state.pci_stats),
            ("numa_topology", host_state.numa_topology),
            ("num_instances", host_state.num_instances),
            ("num_io_ops", host_state.num_io_ops),
            ("host_ip", host_state.host_ip),
            ("hypervisor_type", host_state.hypervisor_type),
            ("hypervisor_version", host_state.hypervisor_version),
            ("hypervisor_hostname", host_state.hypervisor_hostname),
            ("cpu_info", host_state.cpu_info),
            ("supported_instances", host_state.supported_instances),
            ("limits", host_state.limits),
            ("metrics", host_state.metrics),
            ("aggregates", host_state.aggregates),
            ("ram_allocation_ratio", host_state.ram_allocation_ratio),
            ("cpu_allocation_ratio", host_state.cpu_allocation_ratio),
            ("disk_allocation_ratio", host_state.disk_allocation_ratio),
        ]
        for name, value in seen:
            LOG.info("%s: %s = %r", host_state.host, name, value)
        for uuid, instance in host_state.instances.items():
            LOG.info(
                "%s: instance %s: %s, %s, flavor %s",
                host_state.host,
                uuid,
                instance.display_name,
                instance.vm_state,
                instance.flavor.name,
            )
        return True
