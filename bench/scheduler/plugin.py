"""A plug-in filter that runs under both schedulers: what it reads has the same names in both. It imports neither."""

from typing import Any


class SpareRoom:
    """A host passes while a tenth of its memory stays free, it runs fewer than 100 instances and is not busy."""

    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        """In Nova's per-host form."""
        left = host_state.free_ram_mb - spec_obj.memory_mb
        if left < host_state.total_usable_ram_mb // 10 or host_state.num_io_ops > 8:
            return False
        return host_state.vcpus_used + spec_obj.vcpus <= host_state.vcpus_total * 16 and host_state.num_instances < 100
