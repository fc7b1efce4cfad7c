"""Settings of Placement."""

from dataclasses import dataclass

from controlplane.infra.conf import options_now
from controlplane.kernel.settings import setting
from controlplane.kernel.texts import phrase as _


@dataclass(frozen=True, slots=True)
class PlacementOptions:
    """Who may call, and Placement's own options of candidate search. `test_identity`: see `openstack.access`."""

    test_identity: str = setting(
        "",
        _("For Placement's published test suite: believe any X-Auth-Token, under these rules. Refused in production."),
        env="PLACEMENT_TEST_IDENTITY",
        choices=("", "legacy", "secure", "open"),
    )
    cors_origins: tuple[str, ...] = setting(
        (),
        _("Origins (https://name) whose pages may call the Placement API from a browser."),
        env="PLACEMENT_CORS_ORIGINS",
    )
    randomize_candidates: bool = setting(
        False,
        _("Whether a limited answer is a random sample of the candidates instead of the first ones."),
        env="RANDOMIZE_ALLOCATION_CANDIDATES",
    )
    max_candidates: int = setting(
        -1,
        _("Candidates made for one request at most; -1: no such cap."),
        env="MAX_ALLOCATION_CANDIDATES",
        min_value=-1,
    )
    candidates_strategy: str = setting(
        "depth-first",
        _("Under that cap: all candidates of one tree after the other, or one of each tree in turn."),
        env="ALLOCATION_CANDIDATES_STRATEGY",
        choices=("depth-first", "breadth-first"),
    )


def placement_options() -> PlacementOptions:
    """The options as settings have them now."""
    return options_now(PlacementOptions)
