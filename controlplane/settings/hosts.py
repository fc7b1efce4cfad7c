"""What agents offer of their hosts, unless their command line says otherwise. Every setting is a text they parse."""

from controlplane.settings import env

HOST_SETTINGS = {
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
}
