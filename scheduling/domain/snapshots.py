"""Flavor and image as they were when a request came: what all rules of scheduling read, below every one of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class FlavorSnapshot:
    """A flavor as it was when the request came. Extra specs map text to text."""

    id: str
    name: str
    vcpus: int
    memory_mib: int
    root_gib: int = 0
    ephemeral_gib: int = 0
    swap_mib: int = 0
    extra_specs: Mapping[str, str] = field(default_factory=dict)
    given_id: str = ""

    # Nova's names, for filters that were written for it.
    @property
    def flavorid(self) -> str:
        """Nova's name of the flavor's public id: the one that it was given, where it was given one."""
        return self.given_id or self.id

    @property
    def memory_mb(self) -> int:
        """Nova's name of memory_mib."""
        return self.memory_mib

    @property
    def root_gb(self) -> int:
        """Nova's name of root_gib."""
        return self.root_gib

    @property
    def ephemeral_gb(self) -> int:
        """Nova's name of ephemeral_gib."""
        return self.ephemeral_gib

    @property
    def swap(self) -> int:
        """Nova's name of swap_mib."""
        return self.swap_mib


@dataclass(frozen=True, slots=True)
class ImageSnapshot:
    """An image as it was when the request came."""

    id: str = ""
    name: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)
    min_disk_gib: int = 0
    min_ram_mib: int = 0
    disk_format: str = ""
    status: str = "active"
    size_bytes: int = 0

    @property
    def min_disk(self) -> int:
        """Nova's name of min_disk_gib."""
        return self.min_disk_gib

    @property
    def min_ram(self) -> int:
        """Nova's name of min_ram_mib."""
        return self.min_ram_mib
