"""What a fake guest has used."""

from computeagent.protocol.guests import GuestCounters


def fake_counters(seconds: float, *, vcpus: int, memory_mib: int) -> GuestCounters:
    """Of one that ran for so long: a quarter of its vCPUs, three quarters of its memory, and a little talk."""
    return GuestCounters(
        cpu_ns=int(seconds * vcpus * 1_000_000_000 / 4),
        memory_actual_kib=memory_mib * 1024,
        memory_rss_kib=memory_mib * 1024,
        memory_unused_kib=memory_mib * 256,
        disk_read_bytes=int(seconds * 4096),
        disk_read_requests=int(seconds),
        disk_write_bytes=int(seconds * 8192),
        disk_write_requests=int(seconds * 2),
        rx_bytes=int(seconds * 1500),
        rx_packets=int(seconds),
        tx_bytes=int(seconds * 3000),
        tx_packets=int(seconds * 2),
    )
