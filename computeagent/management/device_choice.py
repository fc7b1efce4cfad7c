"""From the operator's device specs to the PCI devices that a host offers.

The rules are the scheduler's own (`scheduling.topology.domain.pci.device_spec`). Driver and agent may not import them,
so the command that starts an agent hands the choice in, and only devices that pass are ever reported.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from computeagent.drivers.host_options import PciChoice
from computeagent.protocol.pci import PciDevice
from controlplane.kernel.errors import Invalid
from scheduling.topology.domain.pci.device_spec import DeviceSpec, parse_device_specs, spec_of


def device_choice(text: str) -> PciChoice | None:
    """The choice that these specs make: JSON, one object or a list of them, as Nova's [pci]device_spec; None for ''.

    Raises Invalid for text that is not that.
    """
    specs = parse_device_specs(_entries(text)) if text.strip() else ()
    if not specs:
        return None
    return lambda found: _chosen(found, specs)


def _entries(text: str) -> list[Mapping[str, Any]]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise Invalid(f"device specs are no JSON: {error}", field="device_spec") from error
    entries = data if isinstance(data, list) else [data]
    wrong = next((entry for entry in entries if not isinstance(entry, dict)), None)
    if wrong is not None:
        raise Invalid(f"a device spec is an object, not {json.dumps(wrong)[:80]}", field="device_spec")
    return entries


def _chosen(found: Sequence[PciDevice], specs: Iterable[DeviceSpec]) -> tuple[PciDevice, ...]:
    pairs = ((device, spec_of(device, specs)) for device in found)
    return tuple(
        replace(device, label=f"label_{device.vendor_id}_{device.product_id}", tags=spec.tags)  # Nova's label
        for device, spec in pairs
        if spec is not None
    )
