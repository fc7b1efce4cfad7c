"""What the fake driver remembers of a guest."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FakeGuest:
    """One guest, of JSON values: its PowerState's, and its GuestSpec's `numa_topology` and `pci_devices`."""

    uuid: str
    name: str
    vcpus: int
    memory_mib: int
    disk_gib: int
    power_state: str
    numa_topology: dict[str, object] | None = None
    pci_devices: list[dict[str, str]] = field(default_factory=list)
    is_memory_saved: bool = False
    is_rescued: bool = False
    vgpus: int = 0
    reason: str = ""
    details: str = ""
    watchdog_fired: int = 0
    macs: list[str] = field(default_factory=list)
    volumes: dict[str, int] = field(default_factory=dict)
    """By id, with how many bytes of it the guest sees."""
