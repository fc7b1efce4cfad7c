"""One request for PCI devices, wherever it came from."""

from dataclasses import dataclass

from scheduling.topology.domain.pci.pool import NumaPolicy

Spec = tuple[tuple[str, str], ...]
"""What a device must be, as sorted pairs such as (vendor_id, 8086)."""


@dataclass(frozen=True, slots=True)
class PciRequest:
    """`count` devices, each matching any of `specs`. `numa_policy` None is legacy."""

    count: int
    specs: tuple[Spec, ...]
    alias: str = ""
    numa_policy: NumaPolicy | None = None
    request_id: str = ""

    @property
    def words(self) -> str:
        """For people: the alias, or what the first spec says."""
        return self.alias or " ".join(f"{key}={value}" for key, value in self.specs[0])

    def asks_for(self, key: str, value: str) -> bool:
        """Whether any spec says so."""
        return any(dict(spec).get(key, "").lower() == value for spec in self.specs)
