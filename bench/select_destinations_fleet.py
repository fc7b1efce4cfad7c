"""The fleet and the requests of bench.select_destinations. Imported once Django is set up."""

import time
from dataclasses import replace
from uuid import UUID, uuid4

from django.db import connection
from django.db.models import F

from controlplane.infra.db import now_plus
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
from scheduling.decisions.services.record import now_us
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.fleet.cache.fleet_cache import fleet_cache
from scheduling.fleet.domain.cells import CELL1_ID
from scheduling.fleet.selectors.candidates import placement_view
from scheduling.fleet.services.cells import cells_ensure
from scheduling.models import Aggregate, AggregateHost, ComputeNode, HostMapping, SchedulingDecision, Service
from servers.instances.selectors.scheduling_facts import fleet_facts, schedule_request
from servers.models import Instance, RequestSpec
from servers.states import VmState

PROJECT, USER = UUID(int=1), UUID(int=2)
BATCH = 2000
DAY_S = 86400.0
ZONES, HELD = 10, 10
STAGES = ("free", "load", "schedule", "claim", "record")
STOCK = {"VCPU": (64, 4.0), "MEMORY_MB": (512 * 1024, 1.0), "DISK_GB": (4096, 1.0)}
SELECTED = {"VCPU": 4, "MEMORY_MB": 16384, "DISK_GB": 80}
TRAITS = ("HW_CPU_X86_AVX2", "HW_CPU_X86_SSE42", "COMPUTE_NODE")
CPU = {"arch": "x86_64", "model": "EPYC", "vendor": "AMD", "features": ["aes", "avx2", "sse4.2", "svm"]}
FLAVOR = {"id": "f", "name": "m1", "vcpus": 1, "memory_mib": 1024, "root_gib": 1}
BODY = {"flavor": FLAVOR, "image": {"id": "i", "name": "demo"}}


def fleet_rows_make(hosts: int) -> None:
    """Services, nodes, mappings, aggregates, providers and instances of so many hosts."""
    cells_ensure()
    names = [f"cmp-{number:05d}" for number in range(hosts)]
    nodes = _nodes(names)
    HostMapping.objects.bulk_create([HostMapping(host=name, cell_id=CELL1_ID) for name in names], batch_size=BATCH)
    aggregates = _aggregates(names)
    _providers(nodes, aggregates)
    _instances(nodes)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")  # as the database does by itself soon after


def _nodes(names: list[str]) -> list[ComputeNode]:
    Service.objects.bulk_create([Service(host=name, version=1) for name in names], batch_size=BATCH)
    Service.objects.update(last_seen_up=now_plus(DAY_S))  # nobody reports while we measure
    services = {service.host: service for service in Service.objects.all()}
    rows = [
        ComputeNode(
            service=services[name],
            host=name,
            hypervisor_hostname=f"{name}.lab",
            hypervisor_type="QEMU",
            hypervisor_version=8002002,
            vcpus=64,
            memory_mib=512 * 1024,
            disk_gib=4096,
            disk_available_least_gib=4000,
            host_ip=f"10.0.{number // 256}.{number % 256}",
            cpu_info=CPU,
            supported_instances=[["x86_64", "qemu", "hvm"], ["x86_64", "kvm", "hvm"]],
        )
        for number, name in enumerate(names)
    ]
    ComputeNode.objects.bulk_create(rows, batch_size=BATCH)
    return rows


def _aggregates(names: list[str]) -> dict[UUID, set[str]]:
    """Ten zones, and every second host with SSDs."""
    members = {
        Aggregate(name=f"zone-{z}", metadata={"availability_zone": f"az{z}"}): names[z::ZONES] for z in range(10)
    }
    members[Aggregate(name="ssd", metadata={"ssd": "true"})] = names[::2]
    Aggregate.objects.bulk_create(members)
    rows = [AggregateHost(aggregate=one, host=host) for one, hosts in members.items() for host in hosts]
    AggregateHost.objects.bulk_create(rows, batch_size=BATCH)
    return {one.id: set(hosts) for one, hosts in members.items()}


def _providers(nodes: list[ComputeNode], aggregates: dict[UUID, set[str]]) -> None:
    ResourceProvider.objects.bulk_create(
        [ResourceProvider(uuid=node.id, name=node.hypervisor_hostname) for node in nodes], batch_size=BATCH
    )
    ResourceProvider.objects.update(root_id=F("pk"))
    providers = {row.uuid: row for row in ResourceProvider.objects.all()}
    classes = {one.name: one for one in ResourceClass.objects.filter(name__in=STOCK)}
    Inventory.objects.bulk_create(
        [
            Inventory(
                provider=providers[node.id],
                resource_class=classes[name],
                total=total,
                max_unit=total,
                allocation_ratio=ratio,
                capacity=int(total * ratio),
                used=SELECTED[name] * (number % (HELD + 1)),
            )
            for number, node in enumerate(nodes)
            for name, (total, ratio) in STOCK.items()
        ],
        batch_size=BATCH,
    )
    traits = list(Trait.objects.filter(name__in=TRAITS))
    ProviderTrait.objects.bulk_create(
        [ProviderTrait(provider=providers[node.id], trait=trait) for node in nodes for trait in traits],
        batch_size=BATCH,
    )
    known = {uuid: PlacementAggregate.objects.create(uuid=uuid) for uuid in aggregates}
    by_host = {node.host: providers[node.id] for node in nodes}
    ProviderAggregate.objects.bulk_create(
        [
            ProviderAggregate(provider=by_host[host], aggregate=known[uuid])
            for uuid, hosts in aggregates.items()
            for host in hosts
        ],
        batch_size=BATCH,
    )
    ResourceProvider.objects.update(changed=ChangeStamp())


def _instances(nodes: list[ComputeNode]) -> None:
    """Up to ten on each host. Their allocations are not made: nobody reads them."""
    rows = (
        Instance(
            project_id=PROJECT,
            user_id=USER,
            name="vm",
            host=node.host,
            node=node.hypervisor_hostname,
            compute_node_uuid=node.id,
            vm_state=VmState.ACTIVE,
            flavor=FLAVOR,
            vcpus=4,
            memory_mib=16384,
        )
        for number, node in enumerate(nodes)
        for _ in range(number % (HELD + 1))
    )
    Instance.objects.bulk_create(rows, batch_size=BATCH)


class Requests:
    """One request after the other for so many instances of 1 VCPU."""

    def __init__(self, instances: int = 1) -> None:
        self.instances = instances
        self.last = UUID(int=0)
        self.spec = RequestSpec(project_id=PROJECT, user_id=USER, body=BODY)

    def one(self) -> dict[str, int]:
        """Schedule one request; microseconds of each part."""
        began = now_us()
        inputs = scheduling_inputs()
        asked = schedule_request(
            self.spec, [uuid4() for _ in range(self.instances)], "req-1", attempts=inputs.policies.attempts_allowed()
        )
        answered_at = now_us()
        facts = fleet_facts(self.spec.typed_body, inputs)
        known = now_us()
        inputs = replace(inputs, facts=facts, is_retry=False)
        self.last = destinations_select(request=asked, inputs=inputs).decision_id
        return {"request": answered_at - began, "facts": known - answered_at, "select": now_us() - known}

    def stages(self) -> dict[str, int]:
        """Microseconds of each stage of the last one, as its decision has them."""
        timings: dict[str, int] = SchedulingDecision.objects.values_list("timings_us", flat=True).get(pk=self.last)
        return {name: spent for name, spent in timings.items() if name in STAGES}

    def host_state_us(self, rounds: int = 200) -> float:
        """CPU microseconds of the host table for one request when nothing changed, without the question whether."""
        cache, view, inputs = fleet_cache(), placement_view(), scheduling_inputs()
        facts = fleet_facts(self.spec.typed_body, inputs)
        began = time.process_time()
        for _ in range(rounds):
            with cache.refreshed(inputs.poll):
                cache.table(view, facts)
        return (time.process_time() - began) * 1e6 / rounds
