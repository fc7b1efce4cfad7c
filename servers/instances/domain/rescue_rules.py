"""What an image must be to rescue an instance. Pure."""

from collections.abc import Mapping, Sequence

from computeagent.protocol.guest_machine import MACHINE, has_no_usb, machine_of
from controlplane.kernel.texts import phrase as _
from servers.fields import Reasons
from servers.instances.domain.guest_config_rules import admin_pass_reasons
from servers.instances.domain.machines_reported import Machines, disk_buses_of, is_without_bus
from servers.instances.domain.not_provided import CDROM_BUSES, DISK_BUSES, IMAGE_KEYS

DEVICE, BUS = "hw_rescue_device", "hw_rescue_bus"
ARCHITECTURE = "hw_architecture"


def rescue_reasons(own: Mapping[str, str], rescue: Mapping[str, str]) -> Reasons:
    """Why an image with the properties `rescue` cannot rescue an instance whose image has `own`. Names of today."""
    reasons = [
        _("{key}={value:.80} of the image cannot be given to a guest: {why}.", key=key, value=value, why=rule.why)
        for rule in IMAGE_KEYS
        if rule.key in (DEVICE, BUS)
        for key, value in rescue.items()
        if rule.refuses(key, value)
    ]
    mine, other = own.get(ARCHITECTURE), rescue.get(ARCHITECTURE)
    if mine and other and mine != other:
        reasons.append(_("It is for {other}, and the instance for {mine}.", other=other, mine=mine))
    return reasons


def rescue_bus_reasons(
    specs: Mapping[str, str], own: Mapping[str, str], rescue: Mapping[str, str], host: Sequence[Machines]
) -> Reasons:
    """Why the rescue disk cannot be on the bus that its image names, in the instance's machine. `host`: the machines
    that the instance's host reports. Without a bus of its own it is on one that the instance has.
    """
    bus, machine = rescue.get(BUS, "").lower(), machine_of(specs, own)
    reasons: Reasons = []
    if not bus:
        return reasons
    if rescue.get(DEVICE, "").lower() == "cdrom" and bus not in CDROM_BUSES:
        reasons.append(
            _(
                "{key}={bus} of the image goes with no {device}=cdrom: CD drives are attached by one of {buses}.",
                key=BUS,
                bus=bus,
                device=DEVICE,
                buses=", ".join(CDROM_BUSES),
            )
        )
    if is_without_bus(machine, bus, [host]):
        reasons.append(
            _(
                "{key}={bus} of the image goes with no {machine_key}={machine:.80}, which the instance has; it has "
                "{there}.",
                key=BUS,
                bus=bus,
                machine_key=MACHINE,
                machine=machine,
                there=", ".join(sorted(disk_buses_of(machine, [host]) or {*DISK_BUSES} - {bus})),
            )
        )
    if bus == "usb" and has_no_usb(specs, own):
        reasons.append(
            _("{key}=usb of the image goes with no hw_usb_model=none, which the instance has: it has no USB.", key=BUS)
        )
    return reasons


def rescue_password_reasons(admin_pass: str, *, has_drive: bool) -> Reasons:
    """Why a rescue system cannot be given this password; none for an empty one, which asks for nothing."""
    if not admin_pass:
        return []
    return admin_pass_reasons(admin_pass) if has_drive else [_("The instance has no config drive to tell it.")]
