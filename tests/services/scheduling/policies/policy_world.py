"""Policies and a fleet on which they differ, for tests of previews and shadows."""

import uuid
from typing import Any

from placement.domain import Claim
from placement.services import allocations_claim
from scheduling.fleet.cache.host_rows import compute_nodes
from tests.services.scheduling.fleet.fleet_world import PROJECT, USER, fleet


class NobodyPasses:
    """A plug-in in the form that is called host by host."""

    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        return False


class Broken:
    """A plug-in with a mistake."""

    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        raise ZeroDivisionError("a mistake")


STACKING: dict[str, Any] = {"weighers": {"RAMWeigher": -1.0}}
NO_HOST: dict[str, Any] = {"filters": ["tests.services.scheduling.policies.policy_world.NobodyPasses"]}
BROKEN: dict[str, Any] = {"filters": ["tests.services.scheduling.policies.policy_world.Broken"]}


def uneven_fleet() -> None:
    """cmp-00 and cmp-01, of which cmp-01 is half full."""
    fleet(2)
    (node,) = [each for each in compute_nodes() if each.host == "cmp-01"]
    claim = Claim(uuid.uuid4(), str(PROJECT), str(USER), {node.pk: {"VCPU": 2, "MEMORY_MB": 2048}})
    allocations_claim([claim])
