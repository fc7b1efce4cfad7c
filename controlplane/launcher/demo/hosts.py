"""The hosts of a demo as values: what each is made of, where it stands, and what is wrong with it."""

from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from controlplane.launcher.demo.plan import DemoPlan

RACK = 40
"""Hosts in one rack."""
PINNED_SHARE, GPU_SHARE = 0.04, 0.04
MAX_PINNED = 120
"""Hosts with NUMA cells register one by one, as real ones do, which takes its time."""
VGPUS = 8


class Condition(StrEnum):
    """What an operator would find on a host."""

    WELL = "well"
    SILENT = "silent"
    """Nobody has seen its agent for a while."""
    FORCED_DOWN = "forced down"
    DISABLED = "disabled"
    FAILING = "failing"
    """Its builds fail; the control plane disabled it."""
    SAFE_MODE = "safe mode"
    OLD_AGENT = "old agent"
    CLOCK_OFF = "clock off"

    @property
    def is_dead(self) -> bool:
        """Whether its heartbeat stays away for good."""
        return self in (Condition.SILENT, Condition.FORCED_DOWN)


@dataclass(frozen=True, slots=True)
class Hardware:
    """A kind of machine. Memory MiB, disk GiB."""

    name: str
    vcpus: int
    memory_mib: int
    disk_gib: int
    model: str


SMALL = Hardware("small", 32, 192 * 1024, 3_800, "Xeon-Silver")
MEDIUM = Hardware("medium", 64, 384 * 1024, 7_600, "EPYC")
LARGE = Hardware("large", 128, 1024 * 1024, 15_200, "EPYC-Milan")


@dataclass(slots=True)
class DemoHost:
    """One host. `used` counts what instances take of it by resource class, `guests` how many run on it."""

    number: int
    name: str
    node_id: UUID
    hardware: Hardware
    zone: str
    rack: str
    condition: Condition = Condition.WELL
    is_pinned: bool = False
    has_gpus: bool = False
    used: dict[str, int] = field(default_factory=dict)
    guests: int = 0

    @property
    def node(self) -> str:
        """Its hypervisor_hostname."""
        return f"{self.name}.example.org"

    def room_for(self, amounts: dict[str, int], fill: float) -> bool:
        """Whether so much fits beside what is there, up to this share of the memory."""
        memory = self.used.get("MEMORY_MB", 0) + amounts["MEMORY_MB"]
        if memory > (self.hardware.memory_mib - 512) * fill:
            return False
        limits = {"VCPU": self.hardware.vcpus * 4, "DISK_GB": self.hardware.disk_gib, "VGPU": self.has_gpus * VGPUS}
        return all(self.used.get(name, 0) + amounts.get(name, 0) <= limit for name, limit in limits.items())

    def take(self, amounts: dict[str, int]) -> None:
        """Count what one more instance takes."""
        for name, amount in amounts.items():
            self.used[name] = self.used.get(name, 0) + amount


def hosts_planned(plan: DemoPlan) -> list[DemoHost]:
    """All hosts, in the order of their names. Nothing is written."""
    rng = plan.rng("hosts")
    racks = max(1, -(-plan.hosts // RACK))
    hosts = []
    for number in range(1, plan.hosts + 1):
        rack = (number - 1) * racks // plan.hosts
        hardware = rng.choices((SMALL, MEDIUM, LARGE), (3, 5, 1))[0]
        name = f"cmp-{number}"
        zone = f"az-{rack * plan.zones // racks + 1}" if racks >= plan.zones else f"az-{number % plan.zones + 1}"
        hosts.append(DemoHost(number, name, plan.uuid("node", name), hardware, zone, f"rack-{rack + 1}"))
    _special(plan, hosts)
    _conditions(plan, hosts)
    return hosts


def _special(plan: DemoPlan, hosts: list[DemoHost]) -> None:
    pinned = min(MAX_PINNED, plan.some(PINNED_SHARE))
    gpus = plan.some(GPU_SHARE)
    chosen = plan.rng("special").sample(hosts, pinned + gpus)
    for host in chosen[:pinned]:
        host.is_pinned = True
    for host in chosen[pinned:]:
        host.has_gpus = True


def _conditions(plan: DemoPlan, hosts: list[DemoHost]) -> None:
    """What is wrong is wrong with few; a whole rack's agents lag behind, as in an upgrade."""
    rng = plan.rng("conditions")
    plain = [host for host in hosts if not host.is_pinned]
    counts = {
        Condition.SILENT: plan.some(0.008, minimum=2),
        Condition.FORCED_DOWN: 1,
        Condition.DISABLED: plan.some(0.01),
        Condition.FAILING: 1,
        Condition.SAFE_MODE: 1,
        Condition.CLOCK_OFF: 1,
    }
    chosen = rng.sample(plain, sum(counts.values()))
    for condition, count in counts.items():
        for host in chosen[:count]:
            host.condition = condition
        del chosen[:count]
    lagging = [host for host in plain if host.condition is Condition.WELL][-plan.some(0.06) :]
    for host in lagging:
        host.condition = Condition.OLD_AGENT
