"""Samples of what a guest uses, packed for storage, and the rates between them.

A sample is a row of whole numbers of variable length (7 bits a byte, as Protocol Buffers write them): 40 to 60 bytes
for a guest that works. A chunk is samples one after the other, so that one more is appended to it without reading it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

from computeagent.protocol.guests import GuestCounters

NS_PER_MS = 1_000_000
MAX_COUNT = 2**63 - 1
COUNTERS = tuple(each.name for each in fields(GuestCounters))
CHUNK_SAMPLES = 20


@dataclass(frozen=True, slots=True)
class Resolution:
    """Samples about `step_s` seconds apart, CHUNK_SAMPLES of them in a chunk. One that follows its predecessor sooner
    than `min_gap_s` is dropped: agents send a quarter sooner or later at random, and may not fill the table faster.
    """

    step_s: int
    min_gap_s: int

    @property
    def chunk_s(self) -> int:
        """How long a chunk goes on for."""
        return self.step_s * CHUNK_SAMPLES

    def chunk_start(self, at_s: int) -> int:
        """When the chunk of this moment began."""
        return at_s - at_s % self.chunk_s


FINE = Resolution(60, min_gap_s=40)
COARSE = Resolution(300, min_gap_s=270)


@dataclass(frozen=True, slots=True)
class GuestSample:
    """What a guest had used by `at_s` (Unix seconds)."""

    at_s: int
    counters: GuestCounters


@dataclass(frozen=True, slots=True)
class GuestRates:
    """What a guest used on average between the sample before and this one; memory is of now.

    CPU is percent of all its vCPUs. Disk and network are bytes a second.
    """

    at_s: int
    cpu_percent: float
    memory_used_kib: int
    disk_read_rate: float
    disk_write_rate: float
    rx_rate: float
    tx_rate: float


def sample_pack(counters: GuestCounters, *, at_s: int, chunk_start_s: int) -> bytes:
    """One sample of the chunk that began at `chunk_start_s`. CPU time is stored in ms. What is below 0 is none."""
    packed = bytearray()
    _number_put(packed, at_s - chunk_start_s)
    for name in COUNTERS:
        count = getattr(counters, name)
        _number_put(packed, count // NS_PER_MS if name == "cpu_ns" else count)
    return bytes(packed)


def chunk_unpack(samples: bytes, *, chunk_start_s: int) -> Iterator[GuestSample]:
    """The samples of a chunk, oldest first. A cut end is left out."""
    numbers = list(_numbers(samples))
    size = len(COUNTERS) + 1
    for begin in range(0, len(numbers) - size + 1, size):
        offset, cpu_ms, *rest = numbers[begin : begin + size]
        yield GuestSample(chunk_start_s + offset, GuestCounters(cpu_ms * NS_PER_MS, *rest))


def rates_between(samples: Sequence[GuestSample], *, vcpus: int) -> list[GuestRates]:
    """One for each sample that has a predecessor. None where a counter fell: the guest was started again between."""
    found = (_rates(before, after, max(1, vcpus)) for before, after in pairwise(samples))
    return [one for one in found if one is not None]


def memory_used_kib(counters: GuestCounters) -> int:
    """What it says that it uses, of what the balloon leaves it; what it takes of the host where it says nothing."""
    if counters.memory_unused_kib:
        return max(0, counters.memory_actual_kib - counters.memory_unused_kib)
    return counters.memory_rss_kib


def _rates(before: GuestSample, after: GuestSample, vcpus: int) -> GuestRates | None:
    seconds, old, new = after.at_s - before.at_s, before.counters, after.counters
    spent = {name: getattr(new, name) - getattr(old, name) for name in COUNTERS if not name.startswith("memory_")}
    if seconds <= 0 or min(spent.values()) < 0:
        return None
    return GuestRates(
        at_s=after.at_s,
        cpu_percent=min(100.0, round(spent["cpu_ns"] / (seconds * vcpus * 1e7), 2)),
        memory_used_kib=memory_used_kib(new),
        disk_read_rate=round(spent["disk_read_bytes"] / seconds, 1),
        disk_write_rate=round(spent["disk_write_bytes"] / seconds, 1),
        rx_rate=round(spent["rx_bytes"] / seconds, 1),
        tx_rate=round(spent["tx_bytes"] / seconds, 1),
    )


def _number_put(packed: bytearray, number: int) -> None:
    number = max(0, min(number, MAX_COUNT))
    while number > 0x7F:
        packed.append(number & 0x7F | 0x80)
        number >>= 7
    packed.append(number)


def _numbers(packed: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in packed:
        number |= (byte & 0x7F) << shift
        if byte & 0x80:
            shift += 7
        else:
            yield number
            number = shift = 0
