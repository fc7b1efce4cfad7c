"""Settings of an agent's host: what its operator sets aside of it. An option of the command line overrides its setting.

Nothing here needs Django: whoever starts the agent makes this object.
"""

from dataclasses import dataclass

from computeagent.protocol.shut_down import SHUTDOWN_TIMEOUT_MAX_S, SHUTDOWN_TIMEOUT_S, SOFT_REBOOT_TIMEOUT_S
from controlplane.kernel.settings import setting
from controlplane.kernel.texts import phrase as _


@dataclass(frozen=True, slots=True)
class HostSettings:
    """Texts in the forms of Nova's options of the same names; `computeagent.management` parses them."""

    cpu_mode: str = setting(
        "",
        _(
            "The CPU of an agent's guests: host-passthrough (default under KVM), host-model, custom (one of "
            "CPU_MODELS) or maximum (default under emulation). Nova's cpu_mode."
        ),
    )
    cpu_models: str = setting(
        "",
        _(
            "Models of CPU_MODE custom by libvirt's names, the preferred one first, such as Haswell-noTSX,Nehalem: a "
            "guest gets the first that has the traits it requires. Nova's cpu_models."
        ),
    )
    cpu_model_extra_flags: str = setting(
        "",
        _(
            "CPU features that all guests of an agent have (+pcid or pcid) or lack (-mpx), several by commas. Nova's "
            "cpu_model_extra_flags."
        ),
    )
    cpu_dedicated_set: str = setting(
        "", _("CPUs that an agent started with this offers to be pinned to, such as 2-7,^5.")
    )
    cpu_shared_set: str = setting(
        "", _("CPUs that its floating vCPUs and emulator threads run on. Neither set: all, for both.")
    )
    reserved_huge_pages: str = setting(
        "",
        _("Pages its guests never get: node:0,size:2048,count:64 (size in KiB or as 1GB); several with ';' between."),
    )
    pci_device_spec: str = setting(
        "",
        _(
            'PCI devices its guests may have: JSON such as [{"vendor_id": "10de"}], the form of Nova\'s '
            "[pci]device_spec."
        ),
    )
    mdev_types: str = setting(
        "",
        _("Types of virtual GPUs (mediated devices) that it makes of its cards, such as nvidia-35; several by commas."),
    )
    image_cache_unused_s: float = setting(
        86400.0,
        _(
            "Seconds without a use after which an agent removes a base image that none of its machine's guests is made "
            "of; 0: never."
        ),
    )
    config_drive_format: str = setting(
        "iso9660",
        _(
            "What the config drives of an agent's guests are: a disc (iso9660), or a disk with a FAT file system "
            "(vfat), which needs mtools."
        ),
        choices=("iso9660", "vfat"),
    )
    network_backend: str = setting(
        "bridge",
        _(
            "What carries networks on an agent's host: bridges of Linux, where the host can keep security groups; OVN, "
            "whose chassis the host is; or none."
        ),
        choices=("bridge", "ovn", "none"),
    )
    bridge_mappings: str = setting(
        "", _("Bridges of an agent's host that lead to outside networks: public:br-ex; several by commas.")
    )
    guest_max_connections: int = setting(
        32768,
        _(
            "Connections of each IP version that a guest in networks of kind bridge may have begun, and as many "
            "that others began with it; of kind ovn: those of each of its ports in all. Further ones are "
            "dropped. All guests of a host share its table of connections (net.netfilter.nf_conntrack_max). 0: "
            "no limit."
        ),
        min_value=0,
    )
    ovs_database: str = setting(
        "",
        _(
            "Address of the database of Open vSwitch on an agent's host, such as unix:/run/openvswitch/db.sock; empty: "
            "where its own programs look. For networks of kind ovn."
        ),
    )
    network_directory: str = setting(
        "",
        _(
            "Directory of the networks that several hypervisors of one machine share, each in a namespace of its own; "
            "manage.py up gives one to its agents. Empty: the hypervisor has the machine's networks for itself."
        ),
    )
    external_network_cidr: str = setting(
        "",
        _(
            "Range of the outside network that manage.py up makes for its hypervisors, such as 203.0.113.0/24; "
            "empty: the first of 172.24.4.0/24, 172.24.5.0/24, ... that the machine has no route to. Chosen once."
        ),
    )
    volume_pools: str = setting(
        "",
        _(
            "Pools of volumes that an agent's host has or reaches, by commas: "
            "local=file:/var/lib/kilonova/volumes (a directory of its own), nfs=shared-file:/mnt/nfs (one that "
            "several hosts have), net=nbd:/srv/volumes@10.0.0.5 (served to others), ceph=rbd:volumes (Ceph). See "
            "volumes-backends.md."
        ),
    )
    shutdown_timeout_s: float = setting(
        SHUTDOWN_TIMEOUT_S,
        _(
            "Seconds that a guest on an agent's host gets to shut down before the plug is pulled, where its image has "
            "no os_shutdown_timeout; 0: none. Nova's shutdown_timeout."
        ),
        max_value=SHUTDOWN_TIMEOUT_MAX_S,
    )
    soft_reboot_timeout_s: float = setting(
        SOFT_REBOOT_TIMEOUT_S,
        _("The same for a soft reboot, whatever the image says. Nova's wait_soft_reboot_seconds."),
        max_value=SHUTDOWN_TIMEOUT_MAX_S,
    )
    guest_counters_interval_s: float = setting(
        60.0,
        _(
            "Seconds between two messages in which an agent tells what its guests use of CPU, memory, disks and "
            "network; 0: never."
        ),
    )
