"""All known image properties in one table, and the judgement of one property, also by a name that it had earlier.

A property that is not in the table is its owner's own: it is stored, and has no effect here.
"""

from controlplane.kernel.texts import gettext_noop
from scheduling.domain.request.image_property_names import EARLIER_NAMES
from servers.catalog.domain.allowed import choice_any_case, one_of
from servers.catalog.domain.extra_specs.placement_keys import trait_complaint
from servers.catalog.domain.extra_specs.rules import KeyRule, key_pattern, value_complaint
from servers.images.domain.image_properties.hardware import (
    CPU_PROPERTIES,
    DEVICE_PROPERTIES,
    MACHINE_PROPERTIES,
    OLD_SCSI_MODELS,
    SCSI_MODELS,
)
from servers.images.domain.image_properties.software import IMAGE_PROPERTIES, OS_PROPERTIES

PROPERTY_RULES: tuple[KeyRule, ...] = (
    *CPU_PROPERTIES,
    *MACHINE_PROPERTIES,
    *DEVICE_PROPERTIES,
    *IMAGE_PROPERTIES,
    *OS_PROPERTIES,
    KeyRule("trait:{name}", one_of("required"), gettext_noop("A trait that the host must have."), trait_complaint),
)

# Nova reads it as two properties at once: ide is a disk bus, everything else a SCSI controller.
ADAPTER_TYPE = "vmware_adaptertype"
_ADAPTERS = choice_any_case(("ide", *SCSI_MODELS), OLD_SCSI_MODELS)

_BY_KEY = {rule.key: rule for rule in PROPERTY_RULES if not rule.is_family}
_FAMILIES = tuple((key_pattern(rule), rule) for rule in PROPERTY_RULES if rule.is_family)


def property_rule(key: str) -> KeyRule | None:
    """The rule of a property, also by a name that it had earlier; None for one that is its owner's own."""
    if rule := _BY_KEY.get(EARLIER_NAMES.get(key, key)):
        return rule
    return next((rule for pattern, rule in _FAMILIES if pattern.fullmatch(key)), None)


def property_complaint(key: str, value: str) -> str:
    """What is wrong with one property, as a sentence that names it and what is allowed; empty when nothing is."""
    if key == ADAPTER_TYPE:
        return value_complaint(key, value, _ADAPTERS)
    if rule := _BY_KEY.get(EARLIER_NAMES.get(key, key)):
        return value_complaint(key, value, rule.allowed)
    for pattern, rule in _FAMILIES:
        if found := pattern.fullmatch(key):
            name = rule.name_complaint(found.groupdict().get("name") or "")
            return f"{key}: {name}" if name else value_complaint(key, value, rule.allowed)
    return ""
