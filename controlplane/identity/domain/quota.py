"""What a project may have."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QuotaLimits:
    """The limits in force for one project: its own, or the installation's where it has none."""

    instances: int
    cores: int
    ram_mib: int
