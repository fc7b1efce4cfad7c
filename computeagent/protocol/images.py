"""Base images of a host: which it has, and which it is asked to fetch before a guest needs them."""

from dataclasses import dataclass
from enum import StrEnum

from computeagent.protocol.bounds import Amount, Count, Word


class CacheState(StrEnum):
    """Where one image is on its way to one host."""

    WAITING = "waiting"
    FETCHING = "fetching"
    CACHED = "cached"
    FAILED = "failed"


OPEN_CACHE_STATES = (CacheState.WAITING, CacheState.FETCHING)
"""The host has still to do something."""


@dataclass(frozen=True, slots=True)
class CachedImage:
    """A base image as a host has it: its SHA-256 in hexadecimal digits, bytes on the disk, seconds since somebody
    asked for it, and how many guests of this hypervisor are made of it.
    """

    checksum: Word
    size_bytes: Amount
    unused_s: Amount = 0
    guests: Count = 0


@dataclass(frozen=True, slots=True)
class WantedImage:
    """An image to have in the cache. The names are those of `GuestSpec`."""

    image_id: str
    image_checksum: str
    image_size_bytes: int
    image_disk_format: str
