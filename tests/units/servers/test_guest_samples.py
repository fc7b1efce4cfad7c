"""Samples of guests: packed, unpacked, and the rates between them."""

from hypothesis import given
from hypothesis import strategies as st

from computeagent.protocol.guests import GuestCounters
from servers.instances.domain.guest_samples import (
    CHUNK_SAMPLES,
    COARSE,
    COUNTERS,
    FINE,
    MAX_COUNT,
    NS_PER_MS,
    GuestRates,
    GuestSample,
    chunk_unpack,
    memory_used_kib,
    rates_between,
    sample_pack,
)

counts = st.integers(0, MAX_COUNT // NS_PER_MS)
counters = st.builds(GuestCounters, **dict.fromkeys(COUNTERS, counts))


def whole_ms(one: GuestCounters) -> GuestCounters:
    values = {name: getattr(one, name) for name in COUNTERS}
    return GuestCounters(**{**values, "cpu_ns": values["cpu_ns"] // NS_PER_MS * NS_PER_MS})


@given(st.lists(st.tuples(st.integers(0, 5999), counters), max_size=CHUNK_SAMPLES))
def test_appended_samples_come_back(taken: list[tuple[int, GuestCounters]]) -> None:
    packed = b"".join(sample_pack(one, at_s=6000 + after, chunk_start_s=6000) for after, one in taken)
    expected = [GuestSample(6000 + after, whole_ms(one)) for after, one in taken]
    assert list(chunk_unpack(packed, chunk_start_s=6000)) == expected


@given(counters, st.integers(1, 10))
def test_cut_end_is_left_out(one: GuestCounters, cut: int) -> None:
    packed = sample_pack(one, at_s=1, chunk_start_s=0)
    (found,) = chunk_unpack(packed + packed[:-cut], chunk_start_s=0)
    assert found == GuestSample(1, whole_ms(one))


def test_numbers_that_no_counter_has_are_bounded() -> None:
    packed = sample_pack(GuestCounters(rx_bytes=-5, tx_bytes=2**80), at_s=0, chunk_start_s=0)
    (found,) = chunk_unpack(packed, chunk_start_s=0)
    assert (found.counters.rx_bytes, found.counters.tx_bytes) == (0, MAX_COUNT)


def test_guest_that_works_takes_under_60_bytes_a_sample() -> None:
    month_s, gib = 30 * 86400, 2**30
    busy = GuestCounters(
        cpu_ns=month_s * 10**9, memory_actual_kib=4 * 2**20, memory_rss_kib=3 * 2**20, memory_unused_kib=2**20,
        disk_read_bytes=900 * gib, disk_read_requests=10**8, disk_write_bytes=900 * gib, disk_write_requests=10**8,
        rx_bytes=900 * gib, rx_packets=10**9, tx_bytes=900 * gib, tx_packets=10**9,
    )  # fmt: skip
    assert len(sample_pack(busy, at_s=5999, chunk_start_s=0)) < 65


def test_chunks_of_both_steps_hold_the_same_number_of_samples() -> None:
    assert (FINE.chunk_s, COARSE.chunk_s) == (20 * 60, 20 * 300)
    assert FINE.chunk_start(1_700_000_123) == 1_700_000_123 // 1200 * 1200


def test_rates_are_between_two_samples() -> None:
    before = GuestSample(100, GuestCounters(cpu_ns=0, rx_bytes=1000))
    after = GuestSample(
        160,
        GuestCounters(
            cpu_ns=60 * 10**9, memory_actual_kib=1000, memory_unused_kib=400, disk_read_bytes=600,
            disk_write_bytes=1200, rx_bytes=7000, tx_bytes=60,
        ),
    )  # fmt: skip
    assert rates_between([before, after], vcpus=2) == [GuestRates(160, 50.0, 600, 10.0, 20.0, 100.0, 1.0)]


def test_guest_that_was_started_again_has_no_rate_there() -> None:
    samples = [GuestSample(at, GuestCounters(cpu_ns=ns)) for at, ns in ((0, 500), (60, 900), (120, 100), (180, 200))]
    assert [one.at_s for one in rates_between(samples, vcpus=1)] == [60, 180]


def test_memory_is_the_guests_word_else_what_it_takes_of_the_host() -> None:
    assert memory_used_kib(GuestCounters(memory_actual_kib=10, memory_rss_kib=7, memory_unused_kib=4)) == 6
    assert memory_used_kib(GuestCounters(memory_actual_kib=10, memory_rss_kib=7)) == 7
