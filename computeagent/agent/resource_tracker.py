"""What the instances of this host take of it. Pure accounting: Placement's claim decided, as in Nova.

Nova's tracker tests no amounts against overcommit (they were claimed in Placement); what it cannot allow is a
guest that is larger than the machine, since no overcommit of other guests makes room for that, and one that breaks a
limit which a filter sent along with the choice (RamFilter and its like). Cells, CPUs and devices were claimed with the
amounts; here they are looked for on the machine as it is now.
"""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from computeagent.agent.failures import ComputeResourcesUnavailable, GuestContradicts, HostTopologyChanged
from computeagent.agent.topology_check import topology_complaints
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.hosts import HostReport

MIB_PER_GIB = 1024
NO_LIMITS: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Usage:
    """Amounts taken, of one guest or of many."""

    vcpus: int = 0
    memory_mib: int = 0
    disk_gib: int = 0

    def plus(self, other: "Usage") -> "Usage":
        """Both together."""
        return Usage(self.vcpus + other.vcpus, self.memory_mib + other.memory_mib, self.disk_gib + other.disk_gib)


def usage_of(guest: GuestSpec) -> Usage:
    """What one guest takes; swap is rounded up to whole GiB, as Placement's DISK_GB request is."""
    swap_gib = -(-guest.swap_mib // MIB_PER_GIB)
    return Usage(guest.vcpus, guest.memory_mib, guest.root_gib + guest.ephemeral_gib + swap_gib)


def guest_refusal(guest: GuestSpec, report: HostReport) -> str:
    """Why the guest cannot be on this machine whatever else is on it; empty when it can."""
    wanted = usage_of(guest)
    placed = guest.numa_topology
    # Pinned vCPUs take no shared CPU; a host that divides none offers the same ones for both, and has enough of them.
    floating = wanted.vcpus - (placed.pinned_count if placed is not None else 0)
    shortages = [
        f"{name}: wants {wants}{unit}, host has {has}{unit}"
        for name, wants, has, unit in (
            ("memory", wanted.memory_mib, report.memory_mib, " MiB"),
            ("vcpus", floating, report.vcpus, ""),
            ("disk", wanted.disk_gib, report.disk_gib, " GiB"),
        )
        if wants > has
    ]
    return "; ".join(shortages)


def limit_refusal(limits: Mapping[str, float], together: Usage) -> str:
    """Which limits all instances of the host `together` would break; empty when none. Limits of other names are not
    known here.
    """
    amounts = {"memory_mb": together.memory_mib, "vcpu": together.vcpus, "disk_gb": together.disk_gib}
    return "; ".join(
        f"limit {name}: {amounts[name]} with this instance, at most {maximum:g}"
        for name, maximum in limits.items()
        if name in amounts and amounts[name] > maximum
    )


class ResourceTracker:
    """Usage of this host by instance: those placed on it, and claims of builds under way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._placed: dict[str, Usage] = {}
        self._claims: dict[str, Usage] = {}

    def claim(self, guest: GuestSpec, report: HostReport, limits: Mapping[str, float] = NO_LIMITS) -> None:
        """Count a guest before it is made. Claiming twice counts once. `limits` came with the choice of this host.

        Raises GuestContradicts, HostTopologyChanged (what it was placed on is gone) or ComputeResourcesUnavailable.
        """
        if guest.fault:
            raise GuestContradicts(guest.fault)
        if complaints := topology_complaints(guest, report):
            raise HostTopologyChanged("; ".join(complaints))
        if reason := guest_refusal(guest, report):
            raise ComputeResourcesUnavailable(reason)
        with self._lock:
            if limits:
                together = self._total(but=guest.uuid).plus(usage_of(guest))
                if reason := limit_refusal(limits, together):
                    raise ComputeResourcesUnavailable(reason)
            self._claims[guest.uuid] = usage_of(guest)

    def settle(self, instance_uuid: str) -> None:
        """The build is done: its claim is a placed instance now."""
        with self._lock:
            if (usage := self._claims.pop(instance_uuid, None)) is not None:
                self._placed[instance_uuid] = usage

    def abort(self, instance_uuid: str) -> None:
        """The build ended without a guest, or was fenced: count it no more."""
        with self._lock:
            self._claims.pop(instance_uuid, None)

    def release(self, instance_uuid: str) -> None:
        """The guest is gone from this host."""
        with self._lock:
            self._claims.pop(instance_uuid, None)
            self._placed.pop(instance_uuid, None)

    def rebuild(self, guests: Iterable[GuestSpec]) -> None:
        """Count from zero what the control plane places here; claims of builds under way stay."""
        placed = {guest.uuid: usage_of(guest) for guest in guests}
        with self._lock:
            self._placed = placed

    def used(self) -> Usage:
        """All of it together; an instance that is both placed and claimed counts once."""
        with self._lock:
            return self._total()

    def _total(self, but: str = "") -> Usage:
        total = Usage()
        for uuid, usage in {**self._placed, **self._claims}.items():
            if uuid != but:
                total = total.plus(usage)
        return total
