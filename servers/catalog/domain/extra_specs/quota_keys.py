"""`quota:` keys: limits that a hypervisor sets on a guest. They never take part in scheduling."""

from servers.catalog.domain.allowed import number, one_of
from servers.catalog.domain.extra_specs.rules import KeyRule

_VMWARE = {
    "cpu": "MHz of CPU",
    "memory": "MB of memory",
    "disk_io": "disk operations a second",
    "vif": "Mbit/s of a NIC",
}
_MOVED = {"bytes": "bytes", "iops": "operations"}
_RATES = {"average": "KiB/s on average", "peak": "KiB/s at peak", "burst": "KiB in a burst"}


def _vmware(part: str, what: str) -> tuple[KeyRule, ...]:
    return (
        KeyRule(f"quota:{part}_limit", number(0), f"VMware: the most {what}; 0 is no limit."),
        KeyRule(f"quota:{part}_reservation", number(), f"VMware: {what} that are guaranteed."),
        KeyRule(
            f"quota:{part}_shares_level",
            one_of("custom", "high", "normal", "low"),
            f"VMware: the guest's share of {what}.",
        ),
        KeyRule(f"quota:{part}_shares_share", number(0), f"VMware: shares of {what}, with the level custom."),
    )


QUOTA_RULES: tuple[KeyRule, ...] = (
    KeyRule("quota:cpu_shares", number(0), "The guest's weight beside others when CPUs are busy."),
    KeyRule(
        "quota:cpu_period", number(0), "Microseconds over which cpu_quota is measured: 1000 to 1000000; 0 is unset."
    ),
    KeyRule("quota:cpu_quota", number(), "Microseconds of CPU in each period: 1000 or more; below 0 is no limit."),
    *(
        KeyRule(f"quota:disk_{way}_{metric}_sec", number(0), f"The most {what} a second, {way}.")
        for way in ("read", "write", "total")
        for metric, what in _MOVED.items()
    ),
    *(
        KeyRule(f"quota:vif_{way}_{rate}", number(0), f"{what[0].upper()}{what[1:]}, {way}, of each NIC.")
        for way in ("inbound", "outbound")
        for rate, what in _RATES.items()
    ),
    *(rule for part, what in _VMWARE.items() for rule in _vmware(part, what)),
)
