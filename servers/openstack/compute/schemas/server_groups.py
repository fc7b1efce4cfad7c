"""What a body about a new server group may say, for each microversion."""

from typing import Any

from controlplane.openstack.schemas import CompiledSchema
from servers.openstack.compute.schemas.parts import NAME, closed, whole

SOFT_SINCE = 15
RULES_SINCE = 64

_HARD = ["anti-affinity", "affinity"]
_ALL = [*_HARD, "soft-anti-affinity", "soft-affinity"]


def _with_policies(known: list[str]) -> CompiledSchema:
    policies: dict[str, Any] = {"type": "array", "items": {"enum": known}, "minItems": 1, "maxItems": 1}
    return CompiledSchema(
        closed(["server_group"], server_group=closed(["name", "policies"], name=NAME, policies=policies))
    )


_RULES = closed([], max_server_per_host=whole(1))
_WITH_RULES = CompiledSchema(
    closed(
        ["server_group"],
        server_group=closed(["name", "policy"], name=NAME, policy={"enum": _ALL}, rules=_RULES),
    )
)
_WITH_POLICIES, _WITH_SOFT_POLICIES = _with_policies(_HARD), _with_policies(_ALL)


def group_create_schema(minor: int) -> CompiledSchema:
    """For a new group."""
    if minor >= RULES_SINCE:
        return _WITH_RULES
    return _WITH_SOFT_POLICIES if minor >= SOFT_SINCE else _WITH_POLICIES
