"""The machine that flavor and image ask for: PC or Q35, BIOS or UEFI, signed code only or not.

Both sides read it here: the control plane to refuse what no machine can be, the hypervisor to make it. Keys and values
are Nova's, under the names of today; where both may speak, the flavor goes before the image.
"""

from collections.abc import Iterator, Mapping

from controlplane.kernel.booleans import is_true
from controlplane.kernel.texts import phrase as _

Pairs = Mapping[str, str]

MACHINE, FIRMWARE, STATELESS = "hw_machine_type", "hw_firmware_type", "hw_firmware_stateless"
PC, Q35, UEFI = "pc", "q35", "uefi"
# What QEMU takes; a host's own CPU may have less, which only the host can tell.
ADDRESS_BITS = 32, 52


def has_uefi(properties: Pairs) -> bool:
    """Whether the guest boots with UEFI; without a word it has a BIOS."""
    return properties.get(FIRMWARE, "").lower() == UEFI


def is_stateless(properties: Pairs) -> bool:
    """Whether the firmware keeps no variables."""
    return has_uefi(properties) and is_true(properties.get(STATELESS))


def secure_boot(specs: Pairs, properties: Pairs) -> str:
    """required, optional (where the host can), disabled, or empty."""
    return (specs.get("os:secure_boot") or properties.get("os_secure_boot") or "").lower()


def viommu_model(specs: Pairs, properties: Pairs) -> str:
    """The model of the guest's IOMMU; empty without one."""
    return (specs.get("hw:viommu_model") or properties.get("hw_viommu_model") or "").lower()


def is_q35(machine: str) -> bool:
    """Whether a machine by this name is a Q35: it has PCI Express and no IDE."""
    return Q35 in machine


def machine_of(specs: Pairs, properties: Pairs) -> str:
    """The image's machine; else a Q35 where something is asked for that needs one, or an i440fx."""
    wants_signed = has_uefi(properties) and secure_boot(specs, properties) in ("required", "optional")
    wants_q35 = wants_signed or viommu_model(specs, properties) or is_true(specs.get("hw:mem_encryption"))
    return properties.get(MACHINE) or (Q35 if wants_q35 else PC)


def has_no_usb(specs: Pairs, properties: Pairs) -> bool:
    """Whether the machine is to have no USB at all: nothing is attached by it."""
    return _word(specs, properties, "usb_model") == "none"


def machine_complaints(specs: Pairs, properties: Pairs) -> Iterator[str]:
    """Sentences that name the keys, for what no machine can be. They are phrases: pages say them in other languages."""
    yield from _addresses(specs, properties)
    yield from _usb(specs, properties)
    machine, is_signed = machine_of(specs, properties), secure_boot(specs, properties) == "required"
    if is_signed and not has_uefi(properties):
        yield _("Secure boot needs an image with hw_firmware_type=uefi.")
    if is_signed and is_stateless(properties):
        yield _("Secure boot keeps its keys among the firmware's variables: it goes without hw_firmware_stateless.")
    if is_true(properties.get(STATELESS)) and not has_uefi(properties):
        yield _("hw_firmware_stateless of the image needs hw_firmware_type=uefi.")
    if is_q35(machine):
        for key in ("hw_disk_bus", "hw_cdrom_bus"):
            if properties.get(key, "").lower() == "ide":
                yield _(
                    "{key}=ide of the image: a machine of type {machine:.80} has no IDE; sata is the nearest.",
                    key=key,
                    machine=machine,
                )
    elif machine.startswith(PC):
        yield from _needs_of_q35(machine, viommu_model(specs, properties), is_signed and has_uefi(properties))


def _needs_of_q35(machine: str, viommu: str, is_signed: bool) -> Iterator[str]:
    if is_signed:
        yield _("{key}={machine:.80} of the image: secure boot needs q35.", key=MACHINE, machine=machine)
    if viommu:
        yield _(
            "{key}={machine:.80} of the image: an IOMMU ({viommu:.80}) needs q35.",
            key=MACHINE,
            machine=machine,
            viommu=viommu,
        )


def _addresses(specs: Pairs, properties: Pairs) -> Iterator[str]:
    mode, bits = _word(specs, properties, "maxphysaddr_mode"), _word(specs, properties, "maxphysaddr_bits")
    if bits and mode != "emulate":
        yield _("hw:maxphysaddr_bits={bits:.20} needs hw:maxphysaddr_mode=emulate.", bits=bits)
    if mode == "emulate" and not (bits.isdecimal() and ADDRESS_BITS[0] <= int(bits) <= ADDRESS_BITS[1]):
        yield _(
            "hw:maxphysaddr_mode=emulate needs hw:maxphysaddr_bits from {lowest} to {highest}, not {bits:.20}.",
            lowest=ADDRESS_BITS[0],
            highest=ADDRESS_BITS[1],
            bits=bits or _("none"),
        )


def _usb(specs: Pairs, properties: Pairs) -> Iterator[str]:
    """A machine without USB has nothing attached by it."""
    if not has_no_usb(specs, properties):
        return
    said = {key: properties.get(key, "") for key in ("hw_disk_bus", "hw_cdrom_bus", "hw_input_bus")}
    said["hw:sound_model"] = _word(specs, properties, "sound_model")
    said["hw_pointer_model"] = "usb" if properties.get("hw_pointer_model") and not said["hw_input_bus"] else ""
    for key, word in said.items():
        if word.lower() == "usb":
            yield _("hw:usb_model=none goes without USB, which {key} asks for.", key=key)


def _word(specs: Pairs, properties: Pairs, name: str) -> str:
    return specs.get(f"hw:{name}") or properties.get(f"hw_{name}") or ""
