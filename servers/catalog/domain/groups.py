"""Policies of server groups."""

from enum import StrEnum


class GroupPolicy(StrEnum):
    """Together or apart. The soft ones are requests that a weigher serves, the others are rules."""

    AFFINITY = "affinity"
    ANTI_AFFINITY = "anti-affinity"
    SOFT_AFFINITY = "soft-affinity"
    SOFT_ANTI_AFFINITY = "soft-anti-affinity"
