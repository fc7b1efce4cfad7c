"""Writes the hosts of a demo: services, nodes, aggregates and zones, and their providers in Placement."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from os_traits import COMPUTE_NODE, HW_CPU_X86_AVX2, HW_CPU_X86_SSE42

from computeagent.drivers.fake import FakeDriver
from computeagent.drivers.fake_hardware import FakeSizes
from computeagent.drivers.host_options import HostOptions
from computeagent.protocol.hosts import HostVersions
from computeagent.protocol.network_traits import network_traits
from computeagent.protocol.networks import NetworkBackendKind
from computeagent.protocol.wire import PROTOCOL_VERSION
from controlplane.infra.db import now_plus
from controlplane.kernel.version import VERSION
from controlplane.launcher.demo.hosts import LARGE, VGPUS, Condition, DemoHost
from controlplane.launcher.demo.plan import DemoPlan
from controlplane.launcher.demo.rows import rows_write
from placement.domain import ProviderKind, TraitOwner
from placement.models import (
    ChangeStamp,
    Inventory,
    PlacementAggregate,
    ProviderAggregate,
    ProviderTrait,
    ResourceClass,
    ResourceProvider,
    Trait,
)
from placement.services.names import trait_ensure
from scheduling.fleet.domain.cells import CELL1_ID
from scheduling.fleet.services.build_failures import build_failure_count, failure_rule
from scheduling.fleet.services.hosts import host_register
from scheduling.fleet.services.providers import inventories_wanted
from scheduling.fleet.services.service_states import service_disable, service_force_down
from scheduling.models import Aggregate, AggregateHost, ComputeNode, HostMapping, Service

GPU_TRAIT = "CUSTOM_GPU_T4"
CARRIES = network_traits([NetworkBackendKind.BRIDGE], ["public"])
TRAITS = frozenset({COMPUTE_NODE, HW_CPU_X86_AVX2, HW_CPU_X86_SSE42, *CARRIES})
OLD_VERSION = "0.0.9"
KERNEL, SYSTEM = "6.12.48", "Debian GNU/Linux 13"
LIBVIRT, OLD_LIBVIRT = "11.3.0", "10.0.0"
QEMU, OLD_QEMU = 10_000_002, 8_002_002
DEDICATED_CPUS = frozenset(range(8, 64))
GUESTS = (("x86_64", "qemu", "hvm"), ("x86_64", "kvm", "hvm"))
DISABLED_BECAUSE = ("memory bank B2 is replaced", "moves to another rack", "firmware update", "disk shelf rebuilds")
FAILING_REASON = "spawning: no space left on device: /var/lib/kilonova/instances"


def fleet_write(plan: DemoPlan, hosts: Sequence[DemoHost], *, more_traits: frozenset[str]) -> None:
    """All rows of the hosts. What `hosts` say is used of them is in their inventories: write its owners too.

    `more_traits` are those that every host has beside its own.
    """
    traits = TRAITS | more_traits
    plain = [host for host in hosts if not host.is_pinned]
    for name in {GPU_TRAIT, *traits} - set(Trait.objects.values_list("name", flat=True)):
        trait_ensure(name)
    services = _services(plan, plain)
    nodes = [_node(plan, host, services[host.name], traits) for host in plain]
    rows_write(ComputeNode, nodes)
    rows_write(HostMapping, (HostMapping(host=host.name, cell_id=CELL1_ID) for host in plain))
    _providers(plain, nodes)
    for host in hosts:
        if host.is_pinned:
            _register(host, traits)
    _aggregates(plan, hosts)
    ResourceProvider.objects.update(changed=ChangeStamp())
    _trouble(plan, plain)


def _services(plan: DemoPlan, hosts: Sequence[DemoHost]) -> dict[str, Service]:
    rng = plan.rng("services")
    rows_write(
        Service,
        (
            Service(
                id=plan.uuid("service", host.name), host=host.name, version=67, report_count=rng.randrange(10**4, 10**6)
            )
            for host in hosts
        ),
    )
    Service.objects.update(last_seen_up=Now())
    for host in hosts:
        if host.condition.is_dead:
            Service.objects.filter(host=host.name).update(last_seen_up=now_plus(-rng.uniform(240.0, 6 * 3600.0)))
    return {service.host: service for service in Service.objects.all()}


def _node(plan: DemoPlan, host: DemoHost, service: Service, common: frozenset[str]) -> ComputeNode:
    rng = plan.rng(f"node {host.name}")
    hardware, is_old = host.hardware, host.condition is Condition.OLD_AGENT
    used, busy = host.used, rng.uniform(0.2, 0.9)
    memory_share = used.get("MEMORY_MB", 0) / hardware.memory_mib
    return ComputeNode(
        id=host.node_id,
        service=service,
        host=host.name,
        hypervisor_hostname=host.node,
        hypervisor_type="QEMU",
        hypervisor_version=OLD_QEMU if is_old else QEMU,
        virt_type="kvm",
        arch="x86_64",
        vcpus=hardware.vcpus,
        vgpus=VGPUS if host.has_gpus else None,
        memory_mib=hardware.memory_mib,
        disk_gib=hardware.disk_gib,
        vcpus_used=used.get("VCPU", 0),
        memory_used_mib=used.get("MEMORY_MB", 0) + 512,
        disk_used_gib=used.get("DISK_GB", 0),
        disk_available_least_gib=hardware.disk_gib - used.get("DISK_GB", 0) // 2,
        running_guests=host.guests,
        host_ip=f"172.16.{host.number // 250}.{host.number % 250 + 1}",
        cpu_info={"arch": "x86_64", "model": hardware.model, "features": ["aes", "avx2", "sse4.2", "svm"]},
        supported_instances=[list(triple) for triple in GUESTS],
        traits=sorted({*common, *((GPU_TRAIT,) if host.has_gpus else ())}),
        metrics={
            "cpu.percent": round(100 * min(0.98, busy * used.get("VCPU", 0) / hardware.vcpus / 2), 1),
            "memory.percent": round(100 * memory_share * 0.9, 1),
            "disk.percent": round(60 * used.get("DISK_GB", 0) / hardware.disk_gib + 5, 1),
        },
        metrics_at=plan.now,
        clock_skew_s=-7.4 if host.condition is Condition.CLOCK_OFF else round(rng.uniform(-0.02, 0.02), 4),
        clock_error_s=0.004,
        agent_version=OLD_VERSION if is_old else VERSION,
        protocol_version=PROTOCOL_VERSION,
        libvirt_version=OLD_LIBVIRT if is_old else LIBVIRT,
        kernel_version=KERNEL,
        os_name=SYSTEM,
        safe_mode=_SAFE_MODE if host.condition is Condition.SAFE_MODE else "",
    )


_SAFE_MODE = "libvirt lists no guests, and 14 disks of guests that should run are in its state directory."


def _providers(hosts: Sequence[DemoHost], nodes: Sequence[ComputeNode]) -> None:
    rows_write(
        ResourceProvider,
        (
            ResourceProvider(uuid=node.id, name=node.hypervisor_hostname, kind=ProviderKind.COMPUTE.value)
            for node in nodes
        ),
    )
    ResourceProvider.objects.filter(root=None).update(root_id=F("pk"))
    ids: dict[UUID, int] = dict(ResourceProvider.objects.values_list("uuid", "pk"))
    classes = dict(ResourceClass.objects.values_list("name", "pk"))
    traits = dict(Trait.objects.values_list("name", "pk"))
    rows_write(Inventory, _inventories(hosts, nodes, ids, classes))
    rows_write(
        ProviderTrait,
        (
            ProviderTrait(provider_id=ids[node.id], trait_id=traits[name], owner=TraitOwner.DRIVER.value)
            for node in nodes
            for name in node.traits
        ),
    )


def _inventories(
    hosts: Sequence[DemoHost], nodes: Sequence[ComputeNode], ids: dict[UUID, int], classes: dict[str, int]
) -> Iterator[Inventory]:
    for host, node in zip(hosts, nodes, strict=True):
        for name, spec in inventories_wanted(node, {}).items():
            yield Inventory(
                provider_id=ids[node.id],
                resource_class_id=classes[name],
                total=spec.total,
                reserved=spec.reserved,
                min_unit=spec.min_unit,
                max_unit=spec.max_unit,
                step_size=spec.step_size,
                allocation_ratio=spec.allocation_ratio,
                capacity=spec.capacity,
                used=host.used.get(name, 0),
            )


def _register(host: DemoHost, common: frozenset[str]) -> None:
    """A host with NUMA cells and CPUs to be pinned registers as its agent would: its topology has many rows."""
    sizes = FakeSizes(
        vcpus=64, memory_mib=LARGE.memory_mib // 2, disk_gib=LARGE.disk_gib // 2, numa_cells=2, gpus=0, nics=1
    )
    found = FakeDriver(host.node, sizes=sizes, options=HostOptions(cpu_dedicated_set=DEDICATED_CPUS)).host_report()
    report = replace(
        found, hypervisor_type="QEMU", hypervisor_version=QEMU, virt_type="kvm", supported_instances=GUESTS
    )
    versions = HostVersions(
        agent=VERSION, protocol=PROTOCOL_VERSION, service=67, libvirt=LIBVIRT, kernel=KERNEL, os=SYSTEM
    )
    address = f"172.16.{host.number // 250}.{host.number % 250 + 1}"
    host_register(
        host=host.name,
        report=replace(report, host_ip=address, versions=versions, traits=tuple(sorted({*report.traits, *common}))),
    )


def _aggregates(plan: DemoPlan, hosts: Sequence[DemoHost]) -> None:
    members: dict[str, tuple[dict[str, str], list[DemoHost]]] = {}
    for host in hosts:
        members.setdefault(host.zone, ({"availability_zone": host.zone}, []))[1].append(host)
        members.setdefault(host.rack, ({"rack": host.rack.removeprefix("rack-")}, []))[1].append(host)
    members["gpu"] = ({"gpu": "t4"}, [host for host in hosts if host.has_gpus])
    members["pinned"] = ({"pinned": "true"}, [host for host in hosts if host.is_pinned])
    rows = {
        name: Aggregate(id=plan.uuid("aggregate", name), name=name, metadata=one[0]) for name, one in members.items()
    }
    rows_write(Aggregate, rows.values())
    pairs = [(rows[name], host) for name, (_, of) in members.items() for host in of]
    rows_write(AggregateHost, (AggregateHost(aggregate=row, host=host.name) for row, host in pairs))
    mirrors = [PlacementAggregate(uuid=row.pk) for row in rows.values()]
    rows_write(PlacementAggregate, mirrors)
    known = dict(PlacementAggregate.objects.values_list("uuid", "pk"))
    ids = dict(ResourceProvider.objects.values_list("uuid", "pk"))
    nodes = dict(ComputeNode.objects.values_list("host", "id"))
    rows_write(
        ProviderAggregate,
        (ProviderAggregate(provider_id=ids[nodes[host.name]], aggregate_id=known[row.pk]) for row, host in pairs),
    )


def _trouble(plan: DemoPlan, hosts: Sequence[DemoHost]) -> None:
    """What operators and the control plane said of some hosts."""
    rng = plan.rng("trouble")
    for host in hosts:
        if host.condition is Condition.DISABLED:
            service_disable(host=host.name, reason=rng.choice(DISABLED_BECAUSE))
        elif host.condition is Condition.FORCED_DOWN:
            service_force_down(host=host.name, forced_down=True)
        elif host.condition is Condition.FAILING:
            for _ in range(failure_rule().limit):
                with transaction.atomic():
                    build_failure_count(host=host.name, reason=FAILING_REASON)
