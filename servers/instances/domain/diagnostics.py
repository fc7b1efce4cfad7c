"""What a guest has used, in the form of Nova's diagnostics (microversion 2.48), out of the counters that its host sent.

Hosts send the sums of all disks and of all interfaces, so `disk_details` and `nic_details` have one entry for all of
them. What nobody counted is null, as in Nova.
"""

from collections.abc import Mapping
from typing import Any

from computeagent.protocol.guests import GuestCounters
from servers.instances.domain.guest_samples import GuestRates, GuestSample, memory_used_kib

KIB_PER_MIB = 1024


def diagnostics_document(
    *,
    state: str,
    virt_type: str,
    vcpus: int,
    memory_mib: int,
    has_config_drive: bool,
    disks: int,
    nics: int,
    macs: tuple[str, ...],
    sample: GuestSample | None,
    rates: GuestRates | None,
) -> Mapping[str, Any]:
    """`nics`: its cards, one without a port among them, of which its host alone knows the MAC.

    Memory in MiB, CPU time in ns, utilisation in percent, network rates in bytes a second.
    """
    counters = None if sample is None else sample.counters
    return {
        "state": state,
        "driver": "fake" if virt_type == "fake" else "libvirt",
        "hypervisor": virt_type,
        "hypervisor_os": "linux",
        "uptime": None,
        "config_drive": has_config_drive,
        "num_cpus": vcpus,
        "num_nics": nics,
        "num_disks": disks,
        "cpu_details": []
        if counters is None
        else [{"id": None, "time": counters.cpu_ns, "utilisation": None if rates is None else rates.cpu_percent}],
        "disk_details": []
        if counters is None
        else [
            {
                "read_bytes": counters.disk_read_bytes,
                "read_requests": counters.disk_read_requests,
                "write_bytes": counters.disk_write_bytes,
                "write_requests": counters.disk_write_requests,
                "errors_count": None,
            }
        ],
        "nic_details": [] if counters is None else [_all_cards(counters, rates, macs[0] if len(macs) == 1 else None)],
        "memory_details": {
            "maximum": memory_mib,
            "used": None if counters is None else memory_used_kib(counters) // KIB_PER_MIB,
        },
        "sampled_at_s": None if sample is None else sample.at_s,
    }


def _all_cards(counters: GuestCounters, rates: GuestRates | None, mac: str | None) -> Mapping[str, Any]:
    return {
        "mac_address": mac,
        "rx_octets": counters.rx_bytes,
        "rx_packets": counters.rx_packets,
        "rx_errors": counters.rx_errors,
        "rx_drop": counters.rx_drops,
        "rx_rate": None if rates is None else rates.rx_rate,
        "tx_octets": counters.tx_bytes,
        "tx_packets": counters.tx_packets,
        "tx_errors": counters.tx_errors,
        "tx_drop": counters.tx_drops,
        "tx_rate": None if rates is None else rates.tx_rate,
    }
