"""`quota:` keys: limits that a hypervisor sets on a guest. They never take part in scheduling."""

from controlplane.kernel.texts import gettext_noop
from servers.catalog.domain.allowed import number, one_of
from servers.catalog.domain.extra_specs.rules import KeyRule

_VMWARE = {
    "cpu": (
        gettext_noop("VMware: the most MHz of CPU; 0 is no limit."),
        gettext_noop("VMware: MHz of CPU that are guaranteed."),
        gettext_noop("VMware: the guest's share of MHz of CPU."),
        gettext_noop("VMware: shares of MHz of CPU, with the level custom."),
    ),
    "memory": (
        gettext_noop("VMware: the most MB of memory; 0 is no limit."),
        gettext_noop("VMware: MB of memory that are guaranteed."),
        gettext_noop("VMware: the guest's share of MB of memory."),
        gettext_noop("VMware: shares of MB of memory, with the level custom."),
    ),
    "disk_io": (
        gettext_noop("VMware: the most disk operations a second; 0 is no limit."),
        gettext_noop("VMware: disk operations a second that are guaranteed."),
        gettext_noop("VMware: the guest's share of disk operations a second."),
        gettext_noop("VMware: shares of disk operations a second, with the level custom."),
    ),
    "vif": (
        gettext_noop("VMware: the most Mbit/s of a NIC; 0 is no limit."),
        gettext_noop("VMware: Mbit/s of a NIC that are guaranteed."),
        gettext_noop("VMware: the guest's share of Mbit/s of a NIC."),
        gettext_noop("VMware: shares of Mbit/s of a NIC, with the level custom."),
    ),
}
"""Of each part: its limit, its reservation, the level of its shares, and their number."""
_DISK = {
    "read_bytes": gettext_noop("The most bytes a second, read."),
    "read_iops": gettext_noop("The most operations a second, read."),
    "write_bytes": gettext_noop("The most bytes a second, write."),
    "write_iops": gettext_noop("The most operations a second, write."),
    "total_bytes": gettext_noop("The most bytes a second, total."),
    "total_iops": gettext_noop("The most operations a second, total."),
}
_VIF = {
    "inbound_average": gettext_noop("KiB/s on average, inbound, of each NIC."),
    "inbound_peak": gettext_noop("KiB/s at peak, inbound, of each NIC."),
    "inbound_burst": gettext_noop("KiB in a burst, inbound, of each NIC."),
    "outbound_average": gettext_noop("KiB/s on average, outbound, of each NIC."),
    "outbound_peak": gettext_noop("KiB/s at peak, outbound, of each NIC."),
    "outbound_burst": gettext_noop("KiB in a burst, outbound, of each NIC."),
}


def _vmware(part: str, meanings: tuple[str, str, str, str]) -> tuple[KeyRule, ...]:
    limit, reservation, level, share = meanings
    return (
        KeyRule(f"quota:{part}_limit", number(0), limit),
        KeyRule(f"quota:{part}_reservation", number(), reservation),
        KeyRule(f"quota:{part}_shares_level", one_of("custom", "high", "normal", "low"), level),
        KeyRule(f"quota:{part}_shares_share", number(0), share),
    )


QUOTA_RULES: tuple[KeyRule, ...] = (
    KeyRule("quota:cpu_shares", number(0), gettext_noop("The guest's weight beside others when CPUs are busy.")),
    KeyRule(
        "quota:cpu_period",
        number(0),
        gettext_noop("Microseconds over which cpu_quota is measured: 1000 to 1000000; 0 is unset."),
    ),
    KeyRule(
        "quota:cpu_quota",
        number(),
        gettext_noop("Microseconds of CPU in each period: 1000 or more; below 0 is no limit."),
    ),
    *(KeyRule(f"quota:disk_{what}_sec", number(0), meaning) for what, meaning in _DISK.items()),
    *(KeyRule(f"quota:vif_{what}", number(0), meaning) for what, meaning in _VIF.items()),
    *(rule for part, meanings in _VMWARE.items() for rule in _vmware(part, meanings)),
)
