"""What other apps get to see of placement's rows: values, never models."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from controlplane.kernel.texts import gettext_noop


class ProviderKind(StrEnum):
    """What a provider stands for. Placement's own API does not know it: what comes from there is OTHER."""

    COMPUTE = gettext_noop("compute")
    NESTED = gettext_noop("nested")
    OTHER = gettext_noop("other")


@dataclass(frozen=True, slots=True)
class ProviderView:
    """One provider. `root_uuid` is its own uuid when it has no parent."""

    uuid: UUID
    name: str
    kind: ProviderKind
    generation: int
    parent_uuid: UUID | None
    root_uuid: UUID


@dataclass(frozen=True, slots=True)
class ConsumerView:
    """Somebody who holds allocations."""

    uuid: UUID
    project_id: str
    user_id: str
    consumer_type: str | None
    generation: int
    created_at: datetime
    by_client: bool = False


@dataclass(frozen=True, slots=True)
class AllocationView:
    """So much of one class of one provider, held by one consumer."""

    consumer_uuid: UUID
    provider_uuid: UUID
    provider_name: str
    resource_class: str
    used: int
