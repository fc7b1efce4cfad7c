"""What `placement_audit` can find, in the order in which it is put right, and what putting it right means."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID


class AuditKind(StrEnum):
    """In this order one fix makes the next possible: room is given back before it is claimed, owners go last."""

    EMPTY_CONSUMER = "empty_consumer"
    GENERATION = "generation"
    ROOT_POINTER = "root_pointer"
    CHANGE_STAMP = "change_stamp"
    ORPHANED_ALLOCATIONS = "orphaned_allocations"
    NODE_WITHOUT_PROVIDER = "node_without_provider"
    NO_INVENTORY = "allocation_without_inventory"
    USED_DIFFERS = "used_differs"
    OVERCOMMITTED = "overcommitted"
    OTHER_HOST = "allocations_on_other_host"
    OTHER_AMOUNTS = "allocations_differ_from_flavor"
    NO_ALLOCATIONS = "instance_without_allocations"
    PROVIDER_WITHOUT_NODE = "provider_without_node"


@dataclass(frozen=True, slots=True)
class Fix:
    """What healing would do, why that is right, and what it changes."""

    action: str
    reason: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One thing that is not as it should be. Either `fix`, or `obstacle` with what an operator can do instead.

    `providers` names those that a consumer holds something of; `seen` has the numbers that were compared.
    """

    kind: AuditKind
    message: str
    provider_uuid: UUID | None = None
    provider_name: str = ""
    consumer_uuid: UUID | None = None
    resource_class: str = ""
    providers: tuple[str, ...] = ()
    seen: Mapping[str, Any] = field(default_factory=dict)
    fix: Fix | None = None
    obstacle: str = ""

    @property
    def subject(self) -> str:
        """Whom it is about, for a table."""
        if self.consumer_uuid is not None:
            return str(self.consumer_uuid)
        return self.provider_name or str(self.provider_uuid)


class HealState(StrEnum):
    """How a fix ended."""

    DONE = "done"
    NOT_NEEDED = "no longer needed"
    IMPOSSIBLE = "cannot be healed"


@dataclass(frozen=True, slots=True)
class HealResult:
    """How the fix of one finding ended; `reason` says why it could not be."""

    finding: AuditFinding
    state: HealState
    reason: str = ""


def amounts_text(amounts: Mapping[str, int]) -> str:
    """'MEMORY_MB 512, VCPU 1', or 'nothing'."""
    return ", ".join(f"{name} {amount}" for name, amount in sorted(amounts.items())) or "nothing"
