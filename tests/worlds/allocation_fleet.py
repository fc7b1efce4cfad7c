"""Two hosts and a few bodies, for tests of who holds what through the Placement API."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from placement.domain import InventorySpec
from placement.services import inventory_set, provider_ensure

PROJECT, USER = "a project", "a user"


@dataclass(frozen=True, slots=True)
class AllocationFleet:
    """Each host has VCPU 4 and MEMORY_MB 1024 in pieces of 64; `consumer` holds nothing yet."""

    first: UUID = field(default_factory=uuid4)
    second: UUID = field(default_factory=uuid4)
    consumer: UUID = field(default_factory=uuid4)

    @property
    def path(self) -> str:
        """Of the consumer's allocations."""
        return f"/allocations/{self.consumer}"


def allocation_fleet() -> AllocationFleet:
    """Made in the database."""
    fleet = AllocationFleet()
    for uuid, name in ((fleet.first, "host-a"), (fleet.second, "host-b")):
        provider_ensure(uuid, name)
        inventory_set(uuid, {"VCPU": InventorySpec(4), "MEMORY_MB": InventorySpec(1024, min_unit=64, step_size=64)})
    return fleet


def state(provider: UUID | str, generation: int | None = None, /, **more: Any) -> dict[str, Any]:
    """A body of 1.28 to 1.37: 1 VCPU of this provider. `amounts` are others; the rest goes in as it is."""
    amounts = more.pop("amounts", {"VCPU": 1})
    return {
        "allocations": {str(provider): {"resources": amounts}},
        "project_id": PROJECT,
        "user_id": USER,
        "consumer_generation": generation,
        **more,
    }


def old_state(provider: UUID | str, **more: Any) -> dict[str, Any]:
    """The same for 1.12 to 1.27, which know no generation of consumers."""
    body = state(provider, **more)
    del body["consumer_generation"]
    return body


def listed(provider: UUID | str, **amounts: int) -> dict[str, Any]:
    """A body in the list form, before 1.8."""
    return {"allocations": [{"resource_provider": {"uuid": str(provider)}, "resources": amounts or {"VCPU": 1}}]}
