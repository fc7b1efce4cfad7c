"""The life of a policy's version: draft, validated, active, retired."""

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class PolicyState(StrEnum):
    """`active` is followed by the scheduler, `retired` was; both never change again, nor does what ran as shadow."""

    DRAFT = "draft"
    VALIDATED = "validated"
    ACTIVE = "active"
    RETIRED = "retired"


TRANSITIONS: Mapping[PolicyState, frozenset[PolicyState]] = MappingProxyType(
    {
        PolicyState.DRAFT: frozenset({PolicyState.VALIDATED}),
        PolicyState.VALIDATED: frozenset({PolicyState.DRAFT, PolicyState.ACTIVE, PolicyState.RETIRED}),
        PolicyState.ACTIVE: frozenset({PolicyState.RETIRED}),
        PolicyState.RETIRED: frozenset({PolicyState.ACTIVE}),
    }
)


def may_become(present: PolicyState, wanted: PolicyState) -> bool:
    """Whether a version in state `present` may go to `wanted`."""
    return wanted in TRANSITIONS[present]


def is_in_share(request_id: str, share: float) -> bool:
    """Whether this request belongs to a share (0 to 1) of all: the same answer for the same id, on every machine."""
    digest = hashlib.blake2b(request_id.encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64 < share
