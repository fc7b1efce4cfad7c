"""Fleets equal in shape to those of the peers' benchmark: the same sizes, JSON columns, aggregates and devices.

64 vCPUs, 512 GiB and 4 TB a host, 0 to 10 instances each; ten zones; `ssd` with every second host; `gpu` with every
20th host, its two pools of GPUs and a weight multiplier. NUMA hosts report two cells of 32 threads and 256 GiB.
"""

import random
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from computeagent.protocol.topology import HostTopology, NUMACell, NUMAPages
from computeagent.protocol.topology_json import host_to_dict
from scheduling.domain.policy import DEFAULT_FILTERS, Policy
from scheduling.engine import (
    DEFAULT_POLICY,
    AggregateRow,
    FlavorSnapshot,
    HostRow,
    HostTable,
    ImageSnapshot,
    InventoryRow,
    ScheduleRequest,
    host_table_from_rows,
)
from scheduling.request_filters.by_feature import OWNER
from scheduling.topology.domain.pci.asked import PciRequest

INSTANCES_PER_HOST = 10
GIB = 1024
CPUS, CELL_MIB = 32, 256 * GIB

# The peers' third extra filter, AggregateInstanceExtraSpecsFilter, is among our defaults.
EXTRA_POLICY = Policy(filters=(*DEFAULT_FILTERS, "NUMATopologyFilter", "PciPassthroughFilter"))
PLUGIN_POLICY = Policy(filters=(*DEFAULT_FILTERS, "bench.scheduler.plugin.SpareRoom"))
POLICIES: Mapping[str, Policy] = {
    "default": DEFAULT_POLICY,
    "plugin": PLUGIN_POLICY,
    "extra": EXTRA_POLICY,
    "extra_pinned": EXTRA_POLICY,
    "extra_differ": EXTRA_POLICY,
}
SPECS: Mapping[str, dict[str, str]] = {
    "agg_extra_spec": {"aggregate_instance_extra_specs:ssd": "true"},
    "numa_2_nodes": {"hw:numa_nodes": "2"},
    "pinned": {"hw:cpu_policy": "dedicated"},
}
GPU = PciRequest(1, ((("product_id", "20b0"), ("vendor_id", "10de")),), "gpu")
POOL = {"vendor_id": "10de", "product_id": "20b0", "dev_type": "type-PCI", "count": 2}
TRAITS = tuple(f"HW_CPU_X86_{name}" for name in ("AVX2", "AVX512F", "SSE42", "VMX", "BMI2", "FMA3", "AESNI", "SHA"))
KVM = tuple((arch, kind, "hvm") for kind in ("kvm", "qemu") for arch in ("i686", "x86_64"))
CPU_INFO = {
    "arch": "x86_64",
    "model": "Cascadelake-Server",
    "vendor": "Intel",
    "topology": {"cells": 2, "sockets": 1, "cores": 16, "threads": 2},
    "features": ["avx2", "avx512f", "sse4.2", "aes", "vmx", "pcid", "ssse3", "rdrand", "fma", "popcnt", "xsave"],
}


def table_of(count: int, config: str) -> HostTable:
    """The fleet of one configuration as the engine has it."""
    return host_table_from_rows(rows(count, config), aggregates(count))


def rows(count: int, config: str) -> list[HostRow]:
    """The rows of compute nodes with their inventories; NUMA cells in the `extra` configurations."""
    return [_row(at, config) for at in range(count)]


def host_name(at: int) -> str:
    """The service host of one row."""
    return f"host-{at:06d}"


def aggregates(count: int) -> list[AggregateRow]:
    """Ten zones, and two with metadata for filters and weighers."""
    zones = [_aggregate(f"az-{a}", range(a, count, 10), {"availability_zone": f"az-{a}"}) for a in range(10)]
    ssd = _aggregate("ssd", range(0, count, 2), {"ssd": "true", "tier": "gold,silver"})
    gpu = _aggregate("gpu", range(0, count, 20), {"gpu": "true", "cpu_weight_multiplier": "2.0"})
    return [*zones, ssd, gpu]


def request(name: str, count: int = 1) -> ScheduleRequest:
    """A batch of 2 vCPUs, 4 GiB and 20 GB each; `name` tells its extra specs and devices."""
    return ScheduleRequest(
        request_id="req-1",
        project_id="project",
        user_id="user",
        instance_uuids=tuple(str(UUID(int=at)) for at in range(count)),
        flavor=FlavorSnapshot("1", "bench", 2, 4 * GIB, 20, extra_specs=SPECS.get(name, {})),
        image=ImageSnapshot("image", "img"),
        pci_requests=(GPU,) if name == "pci_gpu" else (),
        num_alternates=2 if count == 1 else 0,
    )


def _aggregate(name: str, members: range, metadata: dict[str, str]) -> AggregateRow:
    return AggregateRow(name, name, frozenset(map(host_name, members)), metadata)


def _row(at: int, config: str) -> HostRow:
    rng = random.Random(at)
    used = rng.randint(0, INSTANCES_PER_HOST)
    traits = frozenset((OWNER, *rng.sample(TRAITS, rng.randint(3, 6))))
    numa = _numa(at, used, config) if config.startswith("extra") else None
    return HostRow(
        host=host_name(at),
        nodename=host_name(at),
        uuid=str(UUID(int=at)),
        cell_uuid="cell1",
        inventories={
            **_cpus(used, config),
            "MEMORY_MB": InventoryRow(512 * GIB, used=16 * GIB * used, reserved=512),
            "DISK_GB": InventoryRow(4096, used=80 * used),
        },
        disk_available_least_gib=4096 - 80 * used,
        hypervisor_type="QEMU",
        hypervisor_version=8002002,
        host_ip=f"10.{at >> 16}.{at >> 8 & 255}.{at & 255}",
        traits=traits,
        instances=frozenset(str(UUID(int=at << 8 | each)) for each in range(used)),
        supported_instances=KVM,
        cpu_info=CPU_INFO,
        stats=_stats(used),
        service={"version": 73},
        numa_topology=numa,
        pci_pools=() if at % 20 else tuple({**POOL, "numa_node": node} for node in (0, 1)),
    )


def _cpus(used: int, config: str) -> dict[str, InventoryRow]:
    """64 shared ones; or half of them for guests with CPUs of their own."""
    if config in ("extra_pinned", "extra_differ"):
        return {"VCPU": InventoryRow(32, used=2 * used, allocation_ratio=4.0), "PCPU": InventoryRow(32, used=2 * used)}
    return {"VCPU": InventoryRow(64, used=4 * used, allocation_ratio=4.0)}


def _stats(used: int) -> dict[str, Any]:
    counts = ("num_instances", "num_task_None", "num_vm_active", "num_os_type_None", "num_proj_0123456789abcdef")
    return {"failed_builds": "0", "io_workload": "0", **dict.fromkeys(counts, str(used))}


def _numa(at: int, used: int, config: str) -> Mapping[str, Any]:
    """As the peers' hosts; in `extra_differ` no two hosts are alike, as in a fleet that has been in use."""
    rng = random.Random(at)
    cells = tuple(_cell(number, used, config, rng) for number in range(2))
    return host_to_dict(HostTopology(cells))


def _cell(number: int, used: int, config: str, rng: random.Random) -> NUMACell:
    cpus = range(CPUS * number, CPUS * (number + 1))
    dedicated = frozenset(cpus[CPUS // 2 :]) if config != "extra" else frozenset[int]()
    used_mib = used * 8 * GIB + (rng.randrange(8 * GIB) if config == "extra_differ" else 0)
    taken = rng.randrange(7) * 2
    return NUMACell(
        id=number,
        cpuset=frozenset(cpus) - dedicated,
        pcpuset=dedicated,
        memory_mib=CELL_MIB,
        socket=number,
        cpu_usage=used * 2,
        memory_used_mib=used_mib,
        pinned_cpus=frozenset(sorted(dedicated)[:taken]),
        siblings=tuple(frozenset({one, one + 1}) for one in cpus[::2]),
        mempages=(NUMAPages(4, CELL_MIB * 256), NUMAPages(2048, 0)),
    )
