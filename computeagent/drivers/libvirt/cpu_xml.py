"""The element `<cpu>` of a domain's XML. Made of typed values only."""

import xml.etree.ElementTree as ET

from computeagent.drivers.cpu_options import CpuMode
from computeagent.drivers.libvirt.guest_cpu import GuestCpu
from computeagent.drivers.libvirt.guest_options import GuestOptions
from computeagent.drivers.libvirt.guest_tuning import GuestTuning
from computeagent.drivers.libvirt.tuning_xml import add_cpu_shape
from computeagent.drivers.libvirt.xml_text import xml_text


def add_cpu(
    domain: ET.Element, cpu: GuestCpu | None, tuning: GuestTuning, options: GuestOptions, *, is_kvm: bool
) -> None:
    """Mode, model, topology and cells, width of addresses, and features. None, and nothing else to say: no element."""
    if not (cpu or tuning.cpu_topology or tuning.cells or options.addresses):
        return
    element = ET.SubElement(domain, "cpu")
    if cpu is not None:
        element.set("mode", cpu.mode)
        element.set("check", cpu.check)
        if cpu.mode is CpuMode.CUSTOM:
            # This model and no other one: where the host cannot give it, the guest does not start.
            element.set("match", "exact")
            ET.SubElement(element, "model", fallback="forbid").text = xml_text(cpu.model)
    add_cpu_shape(element, tuning)
    _add_addresses(element, options)
    policies = {flag.name: "require" if flag.is_on else "disable" for flag in (cpu.flags if cpu else ())}
    if options.is_hypervisor_hidden and not is_kvm:
        policies["hypervisor"] = "disable"
    for name, policy in policies.items():
        ET.SubElement(element, "feature", policy=policy, name=xml_text(name))


def _add_addresses(cpu: ET.Element, options: GuestOptions) -> None:
    if options.addresses is not None:
        mode, bits = options.addresses
        width = {"bits": str(bits)} if mode == "emulate" else {}
        ET.SubElement(cpu, "maxphysaddr", {"mode": mode, **width})
