"""What a host may say at most: out of bounds is 400 with the field; a large honest host is taken whole."""

import dataclasses
import json
import uuid
from typing import Any

import pytest

from computeagent.drivers.device_traits import EVERY_HOST
from computeagent.drivers.libvirt.capabilities import ARCH_TRAITS, CPU_TRAITS
from computeagent.protocol.bounds import GUESTS_TOGETHER, JSON_MAX_BYTES
from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.hosts import HostReport
from computeagent.protocol.network_traits import physical_network_trait
from computeagent.protocol.pci import DeviceType, PciDeviceRecord
from computeagent.protocol.power import PowerState
from computeagent.protocol.topology import HostTopology, NUMACell, NUMAPages
from computeagent.protocol.volumes import PoolAbility, PoolKind, PoolReport
from computeagent.protocol.wire import encode
from placement.models import ProviderTrait
from scheduling.models import ComputeNode, PciDevice
from servers.models import Instance
from tests.fixtures.agent_messages import ALL_VERBS, beyond, leaves, request_with
from tests.worlds import agents
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def who() -> world.People:
    return world.cloud("h1")


def refusal(answer: Any) -> tuple[int, str, str]:
    error = json.loads(answer.content)["error"]
    return answer.status_code, str(error["code"]), str(error["field"]).replace("[0]", "[...]")


@pytest.mark.parametrize("verb", sorted(ALL_VERBS))
def test_each_value_out_of_bounds_is_400_with_its_field(verb: str) -> None:
    agent = agents.door_agent("h1")
    for leaf in leaves(verb):
        value = next(beyond(leaf.type), None)
        if value is not None:
            answer = agent.post(verb, encode(request_with(verb, leaf.path, value)))
            assert refusal(answer) == (400, "invalid", leaf.field.replace("[0]", "[...]"))


@pytest.mark.parametrize(
    ("verb", "arguments", "field"),
    [
        ("power_states", {"facts": {"web": {"power_state": "running"}}}, "facts"),
        ("console_outputs", {"outputs": {"web": "log"}}, "outputs"),
        ("release_guest", {"guest_uuid": "web"}, "guest_uuid"),
        ("orphan_guests", {"guests": [{"uuid": "web", "name": "", "power_state": "running"}]}, "guests[...].uuid"),
        ("guests_returned", {"returns": [{"uuid": "web", "found": "shutdown"}]}, "returns[...].uuid"),
        ("host_own", {"agent_id": str(uuid.uuid4()), "guests": ["web"]}, "guests[...]"),
        ("take", {"work_id": "1", "owner": "h1:1"}, "work_id"),
        ("usage", {"usage": {"vcpus": 2**40, "memory_mib": 1, "disk_gib": 1, "running_guests": 1}}, "usage.vcpus"),
        (
            "usage",
            {"usage": {"vcpus": 1, "memory_mib": 1, "disk_gib": 1, "running_guests": -1}},
            "usage.running_guests",
        ),
    ],
)
def test_what_is_no_uuid_and_no_count_is_400(verb: str, arguments: dict[str, Any], field: str) -> None:
    world.cloud("h1")
    agent = agents.door_agent("h1")
    assert refusal(agent.post(verb, encode({"host": "h1", **arguments}))) == (400, "invalid", field)


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"running_guests": -1}, "report.running_guests"),
        ({"hypervisor_version": -1}, "report.hypervisor_version"),
        ({"memory_mib": 2**63}, "report.memory_mib"),
        ({"disk_available_least_gib": -(2**63)}, "report.disk_available_least_gib"),
        ({"host_ip": "1" * 65}, "report.host_ip"),
        ({"arch": "a" * 33}, "report.arch"),
        ({"hypervisor_type": "t" * 65}, "report.hypervisor_type"),
        ({"traits": [f"CUSTOM_{at}" for at in range(120_000)]}, "report.traits"),
        ({"traits": ["CUSTOM_a b"]}, "report.traits[...]"),
        ({"cpu_info": {"features": "x" * JSON_MAX_BYTES}}, "cpu_info"),
        ({"stats": {"x": ["y"] * JSON_MAX_BYTES}}, "stats"),
    ],
)
def test_registration_out_of_bounds_is_400_and_changes_nothing(
    who: world.People, said: dict[str, Any], field: str
) -> None:
    agent, before = agents.door_agent("h1"), ComputeNode.objects.values().get()
    report = {**agents.plain(dataclasses.replace(world.REPORT, hypervisor_hostname="h1")), **said}
    assert refusal(agent.post("register", encode({"host": "h1", "report": report}))) == (400, "invalid", field)
    assert ComputeNode.objects.values().get() == before


def test_disk_that_could_grow_past_its_pool_is_taken(who: world.People) -> None:
    report = dataclasses.replace(world.REPORT, hypervisor_hostname="h1", disk_available_least_gib=-400)
    agents.door_agent("h1").tell("register", host="h1", report=report)
    assert ComputeNode.objects.get().disk_available_least_gib == -400


def big_host() -> HostReport:
    """512 CPUs in 16 cells, eight cards of 256 virtual functions each, all traits that our driver knows, 64 pools."""
    cells = tuple(
        NUMACell(
            id=cell,
            cpuset=frozenset(),
            pcpuset=frozenset(range(cell * 32, cell * 32 + 32)),
            memory_mib=256 * 1024,
            socket=cell // 4,
            siblings=tuple(frozenset({cpu, cpu + 16}) for cpu in range(cell * 32, cell * 32 + 16)),
            mempages=(NUMAPages(4, 60_000_000), NUMAPages(2048, 1000), NUMAPages(2**20, 100)),
            physnets=frozenset(f"physnet{at}" for at in range(8)),
        )
        for cell in range(16)
    )
    devices = tuple(
        PciDeviceRecord(
            address=f"0000:{card + 16:02x}:{function // 8:02x}.{function % 8}",
            vendor_id="8086",
            product_id="1889",
            dev_type=DeviceType.VF,
            numa_node=card,
            parent_address=f"0000:{card + 80:02x}:00.0",
            tags=(("physical_network", "physnet1"),),
        )
        for card in range(8)
        for function in range(256)
    )
    of_cpus = {*CPU_TRAITS.values(), *(name for names in ARCH_TRAITS.values() for name in names)}
    physnets = {physical_network_trait(f"physical-network-{at}") for at in range(64)}
    return dataclasses.replace(
        world.REPORT,
        hypervisor_hostname="h1",
        vcpus=0,
        dedicated_vcpus=512,
        memory_mib=4 * 2**20,
        disk_gib=2_000_000,
        running_guests=1000,
        cpu_info={"model": "EPYC", "features": [f"feature-of-this-cpu-{at}" for at in range(400)]},
        supported_instances=tuple((f"arch{at}", "qemu", "hvm") for at in range(100)),
        traits=tuple(sorted({*EVERY_HOST, *of_cpus, *physnets})),
        numa_topology=HostTopology(cells),
        pci_devices=devices,
        vgpus=512,
        pools=tuple(
            PoolReport(f"pool-{at}", PoolKind.FILE, identity=str(at), total_bytes=2**50, abilities=tuple(PoolAbility))
            for at in range(64)
        ),
    )


def test_large_honest_host_is_taken_whole(who: world.People) -> None:
    agent, report = agents.door_agent("h1"), big_host()
    agent.tell("register", host="h1", report=report)
    node = ComputeNode.objects.get()
    assert (node.dedicated_vcpus, node.memory_mib, len(node.numa_topology["cells"])) == (512, 4 * 2**20, 16)
    assert PciDevice.objects.count() == len(report.pci_devices) == 2048
    names = set(ProviderTrait.objects.filter(provider__uuid=node.pk).values_list("trait__name", flat=True))
    assert set(report.traits) <= names
    assert node.cpu_info == report.cpu_info


def test_thousand_guests_are_told_in_two_messages(who: world.People) -> None:
    agent = agents.door_agent("h1")
    world.create(who.member)
    world.pump()
    world.finish_builds()
    instance = Instance.objects.get()
    facts = {str(uuid.uuid4()): GuestFacts(PowerState.RUNNING) for _ in range(999)}
    facts[str(instance.pk)] = GuestFacts(PowerState.RUNNING, {"default": ("192.0.2.9", "2001:db8::9")})
    guests = list(facts.items())
    for at in range(0, len(guests), GUESTS_TOGETHER):
        agent.tell("power_states", host="h1", facts=dict(guests[at : at + GUESTS_TOGETHER]))
    agent.tell("host_own", host="h1", agent_id=agent.agent_id, guests=list(facts))
    assert Instance.objects.get().addresses == {"default": ["192.0.2.9", "2001:db8::9"]}
