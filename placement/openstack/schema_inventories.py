"""Schemas of inventories, and inventories as the wire writes them. Source: Placement's API reference."""

from collections.abc import Mapping
from typing import Any

from controlplane.openstack.schemas import StandardSchema
from placement.domain import MAX_INT, InventorySpec
from placement.openstack.schema_names import NAME_PATTERN
from placement.openstack.shapes import InventoryJson

# The largest single precision number of databases, below which Placement keeps ratios.
_MAX_RATIO = 3.40282e38

_UNITS = {"type": "integer", "minimum": 1, "maximum": MAX_INT}
_GENERATION = {"resource_provider_generation": {"type": "integer"}}
_NUMBERS: dict[str, Any] = {
    "total": _UNITS,
    "reserved": {"type": "integer", "minimum": 0, "maximum": MAX_INT},
    "min_unit": _UNITS,
    "max_unit": _UNITS,
    "step_size": _UNITS,
    "allocation_ratio": {"type": "number", "maximum": _MAX_RATIO},
}
INVENTORY_FIELDS = tuple(_NUMBERS)


def _inventory(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**_NUMBERS, **_GENERATION, **properties},
        "required": ["total", *required],
        "additionalProperties": False,
    }


INVENTORY_CREATE = StandardSchema(
    _inventory({"resource_class": {"type": "string", "pattern": NAME_PATTERN}}, "resource_class")
)
INVENTORY_UPDATE = StandardSchema(_inventory({}, "resource_provider_generation"))
INVENTORIES = StandardSchema(
    {
        "type": "object",
        "properties": {
            **_GENERATION,
            # Names of any form are let through: none that is malformed exists, which is what the answer then says.
            "inventories": {"type": "object", "additionalProperties": _inventory({})},
        },
        "required": ["resource_provider_generation", "inventories"],
        "additionalProperties": False,
    }
)


def inventory_spec(data: Mapping[str, Any]) -> InventorySpec:
    """The inventory that `data`, which its schema has accepted, states; what is left out has Placement's defaults."""
    stated = {field: data[field] for field in INVENTORY_FIELDS if field in data}
    ratio = float(stated.pop("allocation_ratio", 1.0))
    return InventorySpec(**{field: int(value) for field, value in stated.items()}, allocation_ratio=ratio)


def inventory_answer(spec: InventorySpec) -> InventoryJson:
    """The inventory as the wire writes it."""
    return {
        "total": spec.total,
        "reserved": spec.reserved,
        "min_unit": spec.min_unit,
        "max_unit": spec.max_unit,
        "step_size": spec.step_size,
        "allocation_ratio": spec.allocation_ratio,
    }
