"""The grammar of a flavor's extra specs: which keys exist and what their values may be.

Nova's rule: a known key's value is checked; an unknown key in a namespace that Nova knows is refused;
any other key is the operator's own and accepted.
"""

import re
from collections.abc import Callable, Mapping

import os_resource_classes
import os_traits

from servers.domain.fields import Reasons, text_reasons

Check = Callable[[str], str]
"""Returns what the value should have been, or the empty string when it is fine."""

KEY = re.compile(r"[a-zA-Z0-9\-_:. ]{1,255}")
SUFFIX = r"[a-zA-Z0-9_-]{1,64}"
CUSTOM_NAME = re.compile(r"CUSTOM_[A-Z0-9_]{1,248}")
RESOURCE_KEY = re.compile(rf"resources(?P<group>{SUFFIX})?:(?P<name>.*)")
TRAIT_KEY = re.compile(rf"trait(?P<group>{SUFFIX})?:(?P<name>.*)")
STANDARD_CLASSES = frozenset(os_resource_classes.STANDARDS)
STANDARD_TRAITS = frozenset(os_traits.get_traits())
_BOOLEANS = frozenset(["1", "t", "true", "on", "y", "yes", "0", "f", "false", "off", "n", "no"])
_CPU_LIST = re.compile(r"\^?\d+(-\d+)?(,\^?\d+(-\d+)?)*")
_PAGE_SIZE = re.compile(r"(large|small|any|\d+([kKMGT](i?[bB])?|[bB])?)")
_ALIASES = re.compile(r"[^,:\s]+:[1-9]\d*(,[^,:\s]+:[1-9]\d*)*")


def _text(value: str) -> str:
    return "" if value else "some text"


def _boolean(value: str) -> str:
    return "" if value.lower() in _BOOLEANS else "yes or no"


def _one_of(*words: str) -> Check:
    return lambda value: "" if value in words else "one of " + ", ".join(words)


def _number(least: int, most: int | None = None) -> Check:
    wanted = f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"

    def check(value: str) -> str:
        is_number = value.isascii() and value.removeprefix("-").isdigit()
        return "" if is_number and least <= int(value) <= (most if most is not None else int(value)) else wanted

    return check


def _like(pattern: re.Pattern[str], wanted: str) -> Check:
    return lambda value: "" if pattern.fullmatch(value) else wanted


_cpus = _like(_CPU_LIST, "a list of CPUs such as 0-3,^1")

KNOWN: dict[str, Check] = {
    "accel:device_profile": _text,
    "hw:cpu_policy": _one_of("dedicated", "shared", "mixed"),
    "hw:cpu_thread_policy": _one_of("prefer", "isolate", "require"),
    "hw:emulator_threads_policy": _one_of("isolate", "share"),
    "hw:cpu_dedicated_mask": _cpus,
    "hw:cpu_realtime": _boolean,
    "hw:cpu_realtime_mask": _cpus,
    "hw:mem_page_size": _like(_PAGE_SIZE, "large, small, any or a size such as 2MB"),
    "hw:locked_memory": _boolean,
    "hw:numa_nodes": _number(1, 128),
    "hw:pci_numa_affinity_policy": _one_of("required", "preferred", "legacy", "socket"),
    **{f"hw:cpu_{part}": _number(1) for part in ("sockets", "cores", "threads")},
    **{f"hw:cpu_max_{part}": _number(1) for part in ("sockets", "cores", "threads")},
    **{
        f"hw:{flag}": _boolean
        for flag in ("boot_menu", "vif_multiqueue_enabled", "pmu", "hide_hypervisor_id", "virtio_packed_ring")
    },
    "hw:mem_encryption": _boolean,
    "hw:mem_encryption_model": _one_of("amd-sev", "amd-sev-es", "amd-sev-snp", "intel-tdx"),
    "hw:pmem": _text,
    "hw:pmem_namespaces": _text,
    "hw:serial_port_count": _number(0),
    "hw:tpm_model": _one_of("tpm-tis", "tpm-crb"),
    "hw:tpm_version": _one_of("1.2", "2.0"),
    "hw:tpm_secret_security": _one_of("user", "host", "deployment"),
    "hw:watchdog_action": _one_of("none", "pause", "poweroff", "reset", "disabled"),
    "hw:viommu_model": _one_of("intel", "smmuv3", "virtio", "auto"),
    "hw:sound_model": _one_of("sb16", "es1370", "pcspk", "ac97", "ich6", "ich9", "usb", "virtio"),
    "hw:usb_model": _one_of(
        "piix3-uhci", "piix4-uhci", "ehci", "ich9-ehci1", "vt82c686b-uhci", "nec-xhci", "qemu-xhci"
    ),
    "hw:redirected_usb_ports": _number(0, 15),
    "hw:ephemeral_encryption": _boolean,
    "hw:ephemeral_encryption_format": _one_of("luks", "luksv2"),
    "hw:maxphysaddr_mode": _one_of("passthrough", "emulate"),
    "hw:maxphysaddr_bits": _number(1, 64),
    "hw_rng:allowed": _boolean,
    "hw_rng:rate_bytes": _number(1),
    "hw_rng:rate_period": _number(1),
    "hw_video:ram_max_mb": _number(1),
    "os:secure_boot": _one_of("disabled", "required"),
    "pci_passthrough:alias": _like(_ALIASES, "name:count, separated by commas"),
    "vmware:hw_version": _text,
    "vmware:storage_policy": _text,
    "hide_hypervisor_id": _boolean,
    "group_policy": _one_of("isolate", "none"),
}

PATTERNS: list[tuple[re.Pattern[str], Check]] = [
    (re.compile(r"hw:numa_cpus\.\d+"), _cpus),
    (re.compile(r"hw:numa_mem\.\d+"), _number(1)),
    (re.compile(r"quota:cpu_shares"), _number(0)),
    (re.compile(r"quota:cpu_period"), _number(0)),
    (re.compile(r"quota:cpu_quota"), _number(-1)),
    (re.compile(r"quota:disk_(read|write|total)_(bytes|iops)_sec(_max(_length)?)?"), _number(0)),
    (re.compile(r"quota:vif_(inbound|outbound)_(average|peak|burst)"), _number(0)),
    (re.compile(r"quota:(cpu|memory|disk_io|vif)_shares_level"), _one_of("custom", "high", "normal", "low")),
    (re.compile(r"quota:(cpu|memory|disk_io|vif)_(limit|reservation|shares_share)"), _number(0)),
    (re.compile(r"aggregate_instance_extra_specs:.+"), _text),
    (re.compile(r"capabilities:.+"), _text),
]

KNOWN_NAMESPACES = frozenset(
    [*(key.split(":")[0] for key in KNOWN if ":" in key), "quota", "aggregate_instance_extra_specs", "capabilities"]
)


def extra_spec_reasons(extra_specs: object) -> Reasons:
    """Everything that is wrong with a flavor's extra specs, each reason naming the key."""
    if not isinstance(extra_specs, Mapping):
        return ["Must be an object of text values."]
    return [reason for key, value in extra_specs.items() for reason in _pair_reasons(key, value)]


def _pair_reasons(key: object, value: object) -> Reasons:
    if not isinstance(key, str) or not KEY.fullmatch(key):
        return [f"Key {key!r:.80}: 1 to 255 letters, digits, spaces or any of - _ : . are allowed."]
    bad_text = text_reasons(value, most=255)
    if bad_text or not isinstance(value, str):
        return [f"{key}: {reason}" for reason in bad_text]
    wanted = _wanted(key, value)
    return [f"{key}: {wanted}"] if wanted else []


def _wanted(key: str, value: str) -> str:
    if match := RESOURCE_KEY.fullmatch(key):
        return resource_refusal(match["name"], value)
    if match := TRAIT_KEY.fullmatch(key):
        return trait_refusal(match["name"], value, allowed=("required", "forbidden"))
    check = KNOWN.get(key) or next((test for pattern, test in PATTERNS if pattern.fullmatch(key)), None)
    if check is not None:
        wanted = check(value)
        return f"is {value!r:.80}; it must be {wanted}." if wanted else ""
    namespace = key.split(":", maxsplit=1)[0] if ":" in key else ""
    return f"is not a key of the namespace {namespace}." if namespace in KNOWN_NAMESPACES else ""


def resource_refusal(name: str, value: str) -> str:
    """Why `resources:<name>=<value>` cannot be asked for; empty when it can. 0 removes the class."""
    if name not in STANDARD_CLASSES and not CUSTOM_NAME.fullmatch(name):
        return f"{name!r:.80} is neither a standard resource class nor CUSTOM_ with capitals, digits and underscores."
    wanted = _number(0, 2**31 - 1)(value)
    return f"is {value!r:.80}; it must be {wanted}." if wanted else ""


def trait_refusal(name: str, value: str, *, allowed: tuple[str, ...]) -> str:
    """Why `trait:<name>=<value>` cannot be asked for; empty when it can."""
    if name not in STANDARD_TRAITS and not CUSTOM_NAME.fullmatch(name):
        return f"{name!r:.80} is neither a standard trait nor CUSTOM_ with capitals, digits and underscores."
    return "" if value in allowed else f"is {value!r:.80}; it must be {' or '.join(allowed)}."
