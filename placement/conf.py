"""Placement's settings, as a frozen value."""

from dataclasses import dataclass

from django.conf import settings


@dataclass(frozen=True, slots=True)
class PlacementOptions:
    """`test_identity`: '' (off), 'legacy', 'secure' or 'open', see `openstack.access`; never in production.

    `randomize_candidates`, `max_candidates` (-1: no cap) and `candidates_strategy` are Placement's options of the
    same meaning.
    """

    test_identity: str
    cors_origins: frozenset[str]
    randomize_candidates: bool
    max_candidates: int
    candidates_strategy: str


def placement_options() -> PlacementOptions:
    """The options as settings have them now (tests override settings, so nothing is kept)."""
    own = settings.KILONOVA
    return PlacementOptions(
        test_identity=own["PLACEMENT_TEST_IDENTITY"],
        cors_origins=frozenset(own["PLACEMENT_CORS_ORIGINS"]),
        randomize_candidates=own["RANDOMIZE_ALLOCATION_CANDIDATES"],
        max_candidates=own["MAX_ALLOCATION_CANDIDATES"],
        candidates_strategy=own["ALLOCATION_CANDIDATES_STRATEGY"],
    )
