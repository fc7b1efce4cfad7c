"""What a host can give its guests, in os_traits' names: what all hosts can, and what depends on the host's programs."""

from computeagent.protocol.process_traits import PROCESS_TRAITS

EVERY_HOST = frozenset(
    {
        "COMPUTE_NODE",
        "COMPUTE_SOCKET_PCI_NUMA_AFFINITY",
        "COMPUTE_FIRMWARE_BIOS",
        "COMPUTE_GRAPHICS_MODEL_CIRRUS",
        "COMPUTE_GRAPHICS_MODEL_NONE",
        "COMPUTE_GRAPHICS_MODEL_VGA",
        "COMPUTE_IMAGE_TYPE_QCOW2",
        "COMPUTE_IMAGE_TYPE_RAW",
        "COMPUTE_NET_VIF_MODEL_E1000",
        "COMPUTE_NET_VIF_MODEL_E1000E",
        "COMPUTE_NET_VIF_MODEL_RTL8139",
        "COMPUTE_NET_VIF_MODEL_VIRTIO",
        "COMPUTE_STORAGE_BUS_IDE",
        "COMPUTE_STORAGE_BUS_SATA",
        "COMPUTE_STORAGE_BUS_VIRTIO",
    }
)
UEFI, SECURE_BOOT = "COMPUTE_FIRMWARE_UEFI", "COMPUTE_SECURITY_UEFI_SECURE_BOOT"
STATELESS_FIRMWARE = "COMPUTE_SECURITY_STATELESS_FIRMWARE"
TPM_SECRET = "COMPUTE_SECURITY_TPM_SECRET_SECURITY_HOST"  # noqa: S105 - a trait
"""The state of a TPM lies on its host and is as safe as the host's disk: nobody else keeps a secret for it."""

PACKED_VIRTQUEUES = "COMPUTE_NET_VIRTIO_PACKED"
ADDRESSES_EMULATED, ADDRESSES_OF_HOST = "COMPUTE_ADDRESS_SPACE_EMULATED", "COMPUTE_ADDRESS_SPACE_PASSTHROUGH"

TPM_MODELS = {"tpm-tis": "COMPUTE_SECURITY_TPM_TIS", "tpm-crb": "COMPUTE_SECURITY_TPM_CRB"}
TPM_VERSIONS = {"1.2": "COMPUTE_SECURITY_TPM_1_2", "2.0": "COMPUTE_SECURITY_TPM_2_0"}
DISK_BUSES = {"scsi": "COMPUTE_STORAGE_BUS_SCSI", "usb": "COMPUTE_STORAGE_BUS_USB"}
VIDEO_MODELS = {name: f"COMPUTE_GRAPHICS_MODEL_{name.upper()}" for name in ("bochs", "qxl", "virtio", "vmvga")}
VIF_MODELS = {name: f"COMPUTE_NET_VIF_MODEL_{name.upper()}" for name in ("igb", "ne2k_pci", "pcnet", "vmxnet3")}
SOUND_MODELS = {
    name: f"COMPUTE_SOUND_MODEL_{name.upper()}"
    for name in ("ac97", "es1370", "ich6", "ich9", "pcspk", "sb16", "usb", "virtio")
}
USB_MODELS = {"nec-xhci": "COMPUTE_USB_MODEL_NEC_XHCI", "qemu-xhci": "COMPUTE_USB_MODEL_QEMU_XHCI"}
VIOMMU_MODELS = {name: f"COMPUTE_VIOMMU_MODEL_{name.upper()}" for name in ("intel", "virtio", "auto")}

SIMULATED = frozenset(
    {
        *EVERY_HOST,
        *(UEFI, SECURE_BOOT, STATELESS_FIRMWARE, TPM_SECRET, PACKED_VIRTQUEUES, ADDRESSES_EMULATED),
        *PROCESS_TRAITS,
        *TPM_MODELS.values(),
        *TPM_VERSIONS.values(),
        *DISK_BUSES.values(),
        *VIDEO_MODELS.values(),
        *VIF_MODELS.values(),
        *(trait for name, trait in SOUND_MODELS.items() if name not in ("pcspk", "virtio")),
        *USB_MODELS.values(),
        *VIOMMU_MODELS.values(),
    }
)
"""Hosts that only seem to be: they say what a host of today with all of its programs says."""
