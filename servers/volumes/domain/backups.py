"""Chains of backups: a full one, and increments of which each rests on the one before."""

import uuid
from collections.abc import Mapping

MAX_CHAIN = 400
"""More than a year of daily increments: each that is restored is read from the store, from the first on."""
MAX_COMPARED = 8
"""Where no snapshot tells what changed since the last one, the whole chain is read, side by side: so many at most."""


def chain_of(backup_id: uuid.UUID, parents: Mapping[uuid.UUID, uuid.UUID | None]) -> list[uuid.UUID]:
    """The ids from the full one to this one."""
    chain: list[uuid.UUID] = []
    at: uuid.UUID | None = backup_id
    while at is not None and at not in chain:
        chain.append(at)
        at = parents.get(at)
    return chain[::-1]


def is_full_due(increments: int, full_after: int) -> bool:
    """Whether the next one is a full one: after so many increments, or where a chain would grow without an end."""
    return increments >= MAX_CHAIN - 1 or (0 < full_after <= increments)
