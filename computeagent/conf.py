"""Settings of an agent's host: what its operator sets aside of it. An option of the command line overrides its setting.

Nothing here needs Django: whoever starts the agent makes this object.
"""

from dataclasses import dataclass

from controlplane.kernel.settings import setting


@dataclass(frozen=True, slots=True)
class HostSettings:
    """Texts in the forms of Nova's options of the same names; `computeagent.management` parses them."""

    cpu_dedicated_set: str = setting("", "CPUs that an agent started with this offers to be pinned to, such as 2-7,^5.")
    cpu_shared_set: str = setting(
        "", "CPUs that its floating vCPUs and emulator threads run on. Neither set: all, for both."
    )
    reserved_huge_pages: str = setting(
        "",
        "Pages its guests never get: node:0,size:2048,count:64 (size in KiB or as 1GB); several with ';' between.",
    )
    pci_device_spec: str = setting(
        "",
        'PCI devices its guests may have: JSON such as [{"vendor_id": "10de"}], the form of Nova\'s [pci]device_spec.',
    )
    image_cache_unused_s: float = setting(
        86400.0,
        "Seconds without a use after which an agent removes a base image that none of its machine's guests is made "
        "of; 0: never.",
    )
    guest_counters_interval_s: float = setting(
        60.0,
        "Seconds between two messages in which an agent tells what its guests use of CPU, memory, disks and network; "
        "0: never.",
    )
