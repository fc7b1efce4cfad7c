"""From the bodies that write allocations to what the services take. The bodies have passed their schemas."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.faults import bad_request
from placement.domain import UNCHECKED, ConsumerState, InventorySpec, is_valid_name
from placement.domain.claim import Generation
from placement.openstack.allocation_schemas import LIST_FORM_BELOW

GENERATION_SINCE = 28

_BIGGEST = 2**63 - 1

Body = Mapping[str, Any]
Amounts = dict[UUID, dict[str, int]]


def consumer_state(consumer_uuid: UUID, body: Body, minor: int) -> ConsumerState:
    """The state that a body asks for its consumer. Raises Fault 400."""
    return ConsumerState(
        consumer_uuid=consumer_uuid,
        project_id=body.get("project_id"),
        user_id=body.get("user_id"),
        consumer_type=_consumer_type(body),
        resources=_amounts(body["allocations"], minor),
        generation=_generation(body, minor),
        by_client=True,
    )


def consumer_states(bodies: Mapping[str, Body], minor: int) -> list[ConsumerState]:
    """The same for several consumers, whose uuids are the keys. Raises Fault 400."""
    return [consumer_state(_consumer(text), body, minor) for text, body in bodies.items()]


def inventories_stated(bodies: Mapping[str, Body]) -> dict[UUID, tuple[int, dict[str, InventorySpec]]]:
    """{provider: (the generation it was seen at, all its inventories)}. Raises Fault 400."""
    stated: dict[UUID, tuple[int, dict[str, InventorySpec]]] = {}
    for text, body in bodies.items():
        specs = {name: _inventory(fields) for name, fields in body["inventories"].items()}
        stated[_new_provider(text, stated)] = (whole_number(body["resource_provider_generation"]), specs)
    return stated


def whole_number(number: float) -> int:
    """A whole number as JSON may write it (`5`, `5.0`, `1e300`), within what a database integer holds.

    Whatever is cut off here is far beyond any generation.
    """
    return max(-_BIGGEST, min(int(number), _BIGGEST))


def _consumer(text: str) -> UUID:
    uuid = parse_uuid(text)
    if uuid is None:
        raise bad_request(f"Malformed consumer_uuid: {text}")
    return uuid


def _consumer_type(body: Body) -> str | None:
    name = body.get("consumer_type")
    if name is not None and not is_valid_name(name):
        raise bad_request(f"JSON does not validate: {name!r} does not match '^[A-Z0-9_]+$'")
    return name


def _generation(body: Body, minor: int) -> Generation:
    if minor < GENERATION_SINCE:
        return UNCHECKED
    generation = body["consumer_generation"]
    return None if generation is None else whole_number(generation)


def _amounts(allocations: Any, minor: int) -> Amounts:
    if minor < LIST_FORM_BELOW:
        # Of a provider that is named twice the last entry counts, as in the original.
        return {_provider(one["resource_provider"]["uuid"]): _whole_all(one["resources"]) for one in allocations}
    amounts: Amounts = {}
    for text, one in allocations.items():
        amounts[_new_provider(text, amounts)] = _whole_all(one["resources"])
    return amounts


def _whole_all(resources: Mapping[str, float]) -> dict[str, int]:
    return {name: int(amount) for name, amount in resources.items()}


def _provider(text: str) -> UUID:
    uuid = parse_uuid(text)
    if uuid is None:
        raise bad_request(f"Allocation for resource provider '{text}' that does not exist.")
    return uuid


def _new_provider(text: str, named: Mapping[UUID, object]) -> UUID:
    """The provider, which one body may not name twice in different spellings: neither of them would be right."""
    uuid = _provider(text)
    if uuid in named:
        raise bad_request(f"JSON does not validate: resource provider {uuid} is named twice.")
    return uuid


def _inventory(fields: Body) -> InventorySpec:
    numbers = {name: int(value) for name, value in fields.items() if name in _WHOLE}
    return InventorySpec(**numbers, allocation_ratio=float(fields.get("allocation_ratio", 1.0)))


_WHOLE = frozenset({"total", "reserved", "min_unit", "max_unit", "step_size"})
