"""`hw_` properties: the virtual hardware that an image wants. Names and values are those of Nova's image metadata."""

from controlplane.kernel.texts import gettext_noop
from servers.catalog.domain.allowed import (
    a_uuid,
    allowed_values,
    any_text,
    boolean,
    choice_any_case,
    cpu_list,
    number,
    one_of,
    page_size,
)
from servers.catalog.domain.extra_specs.hw_cpu import NUMA_NODES_MAX
from servers.catalog.domain.extra_specs.hw_devices import (
    ENCRYPTION_FORMATS,
    SOUND_MODELS,
    TPM_MODELS,
    TPM_VERSIONS,
    USB_MODELS,
    USB_PORTS_MAX,
    VIOMMU_MODELS,
    WATCHDOG_ACTIONS,
)
from servers.catalog.domain.extra_specs.rules import KeyRule

ARCHITECTURES = allowed_values(
    "alpha armv6 armv7l armv7b aarch64 cris i686 ia64 lm32 m68k microblaze microblazeel mips mipsel mips64 mips64el "
    "openrisc parisc parisc64 ppc ppcle ppc64 ppc64le ppcemb s390 s390x sh4 sh4eb sparc sparc64 unicore32 x86_64 "
    "xtensa xtensaeb"
)
OLD_ARCHITECTURES = ("i386", "i486", "i586", "x86_32", "x86_32p", "amd64")
DISK_BUSES = ("fdc", "ide", "sata", "scsi", "usb", "virtio", "xen", "lxc", "uml")
SCSI_MODELS = ("buslogic", "ibmvscsi", "lsilogic", "lsisas1068", "lsisas1078", "virtio-scsi", "vmpvscsi")
OLD_SCSI_MODELS = ("lsilogicsas", "paravirtual")
VIF_MODELS = allowed_values(
    "virtio ne2k_pci pcnet rtl8139 e1000 e1000e igb netfront spapr-vlan lan9118 sriov vmxnet vmxnet3"
)
OLD_VIF_MODELS = allowed_values(
    "VirtualE1000 VirtualE1000e VirtualPCNet32 VirtualSriovEthernetCard VirtualVmxnet VirtualVmxnet3"
)
VIDEO_MODELS = ("cirrus", "qxl", "vga", "vmvga", "xen", "virtio", "gop", "none", "bochs")
VM_MODES = ("hvm", "xen", "uml", "exe")
OLD_VM_MODES = ("pv", "hv", "baremetal")

CPU_PROPERTIES: tuple[KeyRule, ...] = (
    KeyRule(
        "hw_architecture",
        choice_any_case(ARCHITECTURES, OLD_ARCHITECTURES),
        gettext_noop("The CPU that it was built for."),
    ),
    KeyRule(
        "hw_emulation_architecture",
        choice_any_case(ARCHITECTURES, OLD_ARCHITECTURES),
        gettext_noop("The CPU to emulate, where it is not the host's."),
    ),
    KeyRule(
        "hw_cpu_policy",
        one_of("dedicated", "shared", "mixed"),
        gettext_noop("Counts where the flavor names no policy."),
    ),
    KeyRule(
        "hw_cpu_thread_policy",
        one_of("prefer", "isolate", "require"),
        gettext_noop("Counts where the flavor names none."),
    ),
    KeyRule(
        "hw_cpu_realtime_mask",
        cpu_list(),
        gettext_noop("The guest CPUs with realtime priority; goes before the flavor's."),
    ),
    KeyRule("hw_cpu_sockets", number(0), gettext_noop("How many sockets the guest should see.")),
    KeyRule("hw_cpu_cores", number(0), gettext_noop("How many cores of a socket the guest should see.")),
    KeyRule("hw_cpu_threads", number(0), gettext_noop("How many threads of a core the guest should see.")),
    KeyRule("hw_cpu_max_sockets", number(0), gettext_noop("The most sockets, at most what the flavor allows.")),
    KeyRule("hw_cpu_max_cores", number(0), gettext_noop("The most cores of a socket, at most what the flavor allows.")),
    KeyRule(
        "hw_cpu_max_threads", number(0), gettext_noop("The most threads of a core, at most what the flavor allows.")
    ),
    KeyRule(
        "hw_mem_page_size", page_size(), gettext_noop("Pages behind the memory, where the flavor says large or any.")
    ),
    KeyRule("hw_locked_memory", boolean(), gettext_noop("Whether memory is never swapped.")),
    KeyRule(
        "hw_numa_nodes",
        number(1, NUMA_NODES_MAX),
        gettext_noop("How many NUMA nodes the guest has, where the flavor is silent."),
    ),
    KeyRule(
        "hw_numa_cpus.{node}", cpu_list(), gettext_noop("The guest CPUs of one of its NUMA nodes, counted from 0.")
    ),
    KeyRule("hw_numa_mem.{node}", number(1), gettext_noop("MB of memory of one of the guest's NUMA nodes.")),
    KeyRule(
        "hw_pci_numa_affinity_policy",
        one_of("required", "preferred", "legacy", "socket"),
        gettext_noop("How near PCI devices must be to the guest's NUMA nodes."),
    ),
    KeyRule("hw_mem_encryption", boolean(), gettext_noop("Whether memory is encrypted. Needs UEFI and a q35 machine.")),
    KeyRule(
        "hw_mem_encryption_model",
        one_of("amd-sev", "amd-sev-es", "amd-sev-snp", "intel-tdx"),
        gettext_noop("By which feature of the CPU memory is encrypted."),
    ),
    KeyRule(
        "hw_maxphysaddr_mode",
        one_of("passthrough", "emulate"),
        gettext_noop("Where the width of physical addresses is from."),
    ),
    KeyRule(
        "hw_maxphysaddr_bits", number(1, 64), gettext_noop("The width of physical addresses, with the mode emulate.")
    ),
)

MACHINE_PROPERTIES: tuple[KeyRule, ...] = (
    KeyRule("hw_machine_type", any_text(), gettext_noop("The machine to emulate, such as q35.")),
    KeyRule(
        "hw_vm_mode",
        choice_any_case(VM_MODES, OLD_VM_MODES),
        gettext_noop("The interface between guest and hypervisor."),
    ),
    KeyRule("hw_firmware_type", one_of("uefi", "bios"), gettext_noop("What the guest boots with.")),
    KeyRule("hw_firmware_stateless", boolean(), gettext_noop("Whether the firmware keeps nothing; with UEFI.")),
    KeyRule("hw_boot_menu", boolean(), gettext_noop("Whether the firmware shows a boot menu.")),
    KeyRule("hw_ipxe_boot", boolean(), gettext_noop("Whether it boots a CD that configures the network.")),
    KeyRule("hw_auto_disk_config", any_text(), gettext_noop("Whether the root partition grows to the disk.")),
    KeyRule("hw_device_id", number(), gettext_noop("The version of the guest's Xen tools.")),
    KeyRule("hw_tpm_model", one_of(*TPM_MODELS), gettext_noop("The interface of the TPM.")),
    KeyRule(
        "hw_tpm_version", one_of(*TPM_VERSIONS), gettext_noop("The version of the TPM; without one there is none.")
    ),
    KeyRule("hw_viommu_model", one_of(*VIOMMU_MODELS), gettext_noop("The guest's IOMMU.")),
    KeyRule("hw_ephemeral_encryption", boolean(), gettext_noop("Whether the guest's own disks are encrypted.")),
    KeyRule("hw_ephemeral_encryption_format", one_of(*ENCRYPTION_FORMATS), gettext_noop("How they are encrypted.")),
    KeyRule("hw_ephemeral_encryption_secret_uuid", a_uuid(), gettext_noop("The secret that they are encrypted with.")),
)

DEVICE_PROPERTIES: tuple[KeyRule, ...] = (
    KeyRule("hw_disk_bus", one_of(*DISK_BUSES), gettext_noop("How disks are attached.")),
    KeyRule("hw_cdrom_bus", one_of(*DISK_BUSES), gettext_noop("How CD drives are attached.")),
    KeyRule("hw_floppy_bus", one_of(*DISK_BUSES), gettext_noop("How floppy drives are attached.")),
    KeyRule("hw_rescue_bus", one_of(*DISK_BUSES), gettext_noop("How the rescue disk is attached.")),
    KeyRule(
        "hw_rescue_device", one_of("cdrom", "disk", "floppy", "fs", "lun"), gettext_noop("What the rescue disk is.")
    ),
    KeyRule("hw_disk_type", any_text(), gettext_noop("How the disk's space is taken, such as preallocated.")),
    KeyRule("hw_scsi_model", choice_any_case(SCSI_MODELS, OLD_SCSI_MODELS), gettext_noop("The SCSI controller.")),
    KeyRule("hw_vif_model", choice_any_case(VIF_MODELS, OLD_VIF_MODELS), gettext_noop("The NICs.")),
    KeyRule(
        "hw_vif_multiqueue_enabled", boolean(), gettext_noop("Whether virtio NICs have a queue for each guest CPU.")
    ),
    KeyRule("hw_virtio_packed_ring", boolean(), gettext_noop("Whether the guest may negotiate virtio's packed ring.")),
    KeyRule("hw_video_model", one_of(*VIDEO_MODELS), gettext_noop("The video device.")),
    KeyRule("hw_video_ram", number(0), gettext_noop("MB of video memory, at most what the flavor allows.")),
    KeyRule("hw_input_bus", one_of("usb", "virtio"), gettext_noop("How the tablet and keyboard are attached.")),
    KeyRule("hw_pointer_model", one_of("usbtablet"), gettext_noop("The pointing device.")),
    KeyRule("hw_rng_model", one_of("virtio"), gettext_noop("The random number generator.")),
    KeyRule("hw_watchdog_action", one_of(*WATCHDOG_ACTIONS), gettext_noop("What happens when the guest hangs.")),
    KeyRule("hw_serial_port_count", number(0), gettext_noop("How many serial ports, at most what the flavor allows.")),
    KeyRule("hw_qemu_guest_agent", boolean(), gettext_noop("Whether QEMU's agent runs inside.")),
    KeyRule("hw_pmu", boolean(), gettext_noop("Whether it has a performance monitoring unit.")),
    KeyRule("hw_time_hpet", boolean(), gettext_noop("Whether it has the HPET clock.")),
    KeyRule("hw_sound_model", one_of(*SOUND_MODELS), gettext_noop("The sound device.")),
    KeyRule("hw_usb_model", one_of(*USB_MODELS), gettext_noop("The USB controller.")),
    KeyRule(
        "hw_redirected_usb_ports", number(0, USB_PORTS_MAX), gettext_noop("How many USB ports are redirected to it.")
    ),
)
