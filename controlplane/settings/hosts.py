"""What agents offer of their hosts (texts they parse, unless their command line says otherwise), and when the control
plane steps in: for guests that nobody explains, for drift, for hosts that fail builds.
"""

from typing import Any

from controlplane.settings import env

HOST_SETTINGS: dict[str, Any] = {
    "CPU_DEDICATED_SET": env.text(
        "CPU_DEDICATED_SET", "", "CPUs that an agent started with this offers to be pinned to, such as 2-7,^5."
    ),
    "CPU_SHARED_SET": env.text(
        "CPU_SHARED_SET", "", "CPUs that its floating vCPUs and emulator threads run on. Neither set: all, for both."
    ),
    "RESERVED_HUGE_PAGES": env.text(
        "RESERVED_HUGE_PAGES",
        "",
        "Pages its guests never get: node:0,size:2048,count:64 (size in KiB or as 1GB); several with ';' between.",
    ),
    "PCI_DEVICE_SPEC": env.text(
        "PCI_DEVICE_SPEC",
        "",
        'PCI devices its guests may have: JSON such as [{"vendor_id": "10de"}], the form of Nova\'s [pci]device_spec.',
    ),
    "IMAGE_CACHE_UNUSED_S": env.number(
        "IMAGE_CACHE_UNUSED_S",
        86400.0,
        "Seconds without a use after which an agent removes a base image that none of its machine's guests is made "
        "of; 0: never.",
        minimum=0.0,
    ),
    "ORPHAN_GUEST_GRACE_S": env.number(
        "ORPHAN_GUEST_GRACE_S",
        60.0,
        "Seconds that a guest which no instance explains is listed before its host's agent removes it.",
        minimum=0.0,
    ),
    "DRIFT_GRACE_S": env.number(
        "DRIFT_GRACE_S",
        60.0,
        "Seconds that other drift between instances, guests and allocations must last before it is put right by "
        "itself.",
        minimum=0.0,
    ),
    "DRIFT_MAX_FINDINGS": env.integer(
        "DRIFT_MAX_FINDINGS",
        10000,
        "Findings at which one look for drift stops; those are listed, and the page says that there are more.",
        minimum=1,
    ),
    "BUILD_FAILURES_DISABLE": env.integer(
        "BUILD_FAILURES_DISABLE",
        10,
        "Failed builds, all by a host's own fault, at which the host gets no new instances; 0: any number.",
    ),
    "BUILD_FAILURES_HALF_LIFE_S": env.number(
        "BUILD_FAILURES_HALF_LIFE_S",
        1800.0,
        "Seconds without another one after which a host's failed builds count half; below the limit, a host that "
        "they disabled is enabled again. 0: they count until a build works.",
        minimum=0.0,
    ),
}
