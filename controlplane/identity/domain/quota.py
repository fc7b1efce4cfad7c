"""What a project may have."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QuotaLimits:
    """The limits in force for one project: its own, or the installation's where it has none. -1 means unlimited."""

    instances: int
    cores: int
    ram_mib: int
    images: int
    image_bytes: int
    image_uploads: int
