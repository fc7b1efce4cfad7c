"""What the guests use, as libvirt counts it: one call for all that are on, paused ones too."""

from collections.abc import Mapping
from typing import Any

from computeagent.drivers.libvirt.binding import LibvirtError, is_unsupported, libvirt
from computeagent.drivers.libvirt.guest_xml import domain_name
from computeagent.protocol.guests import GuestCounters

Stats = Mapping[str, Any]


def guest_stats(conn: Any) -> dict[str, GuestCounters]:
    """By uuid. Domains of others (of other names) are left out, and so are those of which libvirt counts nothing, as it
    does for a guest that does not answer at once and for a simulated host. Raises LibvirtError.
    """
    wanted = (
        libvirt.VIR_DOMAIN_STATS_CPU_TOTAL
        | libvirt.VIR_DOMAIN_STATS_BALLOON
        | libvirt.VIR_DOMAIN_STATS_INTERFACE
        | libvirt.VIR_DOMAIN_STATS_BLOCK
    )
    # Without NOWAIT a guest whose monitor hangs would hold up the counters of all others.
    how = libvirt.VIR_CONNECT_GET_ALL_DOMAINS_STATS_ACTIVE | libvirt.VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT
    try:
        records = conn.getAllDomainStats(wanted, how)
    except LibvirtError as error:
        if is_unsupported(error):
            return {}
        raise
    named = ((domain.UUIDString(), domain.name(), stats) for domain, stats in records)
    return {
        uuid: counters_of(stats) for uuid, name, stats in named if name == domain_name(uuid) and "cpu.time" in stats
    }


def counters_of(stats: Stats) -> GuestCounters:
    """One guest's, with all its disks and all its interfaces together."""
    return GuestCounters(
        cpu_ns=_number(stats, "cpu.time"),
        memory_actual_kib=_number(stats, "balloon.current"),
        memory_rss_kib=_number(stats, "balloon.rss"),
        memory_unused_kib=_number(stats, "balloon.unused"),
        disk_read_bytes=_sum(stats, "block", "rd.bytes"),
        disk_read_requests=_sum(stats, "block", "rd.reqs"),
        disk_write_bytes=_sum(stats, "block", "wr.bytes"),
        disk_write_requests=_sum(stats, "block", "wr.reqs"),
        rx_bytes=_sum(stats, "net", "rx.bytes"),
        rx_packets=_sum(stats, "net", "rx.pkts"),
        rx_errors=_sum(stats, "net", "rx.errs"),
        rx_drops=_sum(stats, "net", "rx.drop"),
        tx_bytes=_sum(stats, "net", "tx.bytes"),
        tx_packets=_sum(stats, "net", "tx.pkts"),
        tx_errors=_sum(stats, "net", "tx.errs"),
        tx_drops=_sum(stats, "net", "tx.drop"),
    )


def version_text(number: int) -> str:
    """`8.2.0` from libvirt's 8002000."""
    return f"{number // 1_000_000}.{number // 1000 % 1000}.{number % 1000}"


def _sum(stats: Stats, kind: str, what: str) -> int:
    return sum(_number(stats, f"{kind}.{at}.{what}") for at in range(_number(stats, f"{kind}.count")))


def _number(stats: Stats, name: str) -> int:
    """libvirt says a huge number, or nothing, where it does not know."""
    value = stats.get(name, 0)
    return int(value) if 0 <= value < 2**63 else 0
