"""Why a provider cannot be made, changed or deleted: typed, so that each door can give its own code."""

from enum import StrEnum
from typing import ClassVar
from uuid import UUID

from controlplane.kernel.errors import Conflict, Invalid


class ParentRule(StrEnum):
    """What is wrong with the parent that a client asks for. The last two: its API version cannot move providers."""

    UNKNOWN = "unknown"
    ITSELF = "itself"
    LOOP = "loop"
    MOVE = "move"
    DETACH = "detach"


_SENTENCES = {
    ParentRule.UNKNOWN: "{parent} cannot be the parent of {provider}: no such provider.",
    ParentRule.ITSELF: "{parent} cannot be its own parent.",
    ParentRule.LOOP: "{parent} lies below {provider}: a tree has no loops.",
    ParentRule.MOVE: "{provider} has another parent already, which stays.",
    ParentRule.DETACH: "{provider} has a parent, which stays.",
}


class ParentRefused(Invalid):
    """The parent cannot be this one. Extra: rule (ParentRule), provider_uuid, parent_uuid."""

    code: ClassVar[str] = "parent_refused"

    def __init__(self, rule: ParentRule, *, provider_uuid: UUID, parent_uuid: UUID | None) -> None:
        text = _SENTENCES[rule].format(parent=parent_uuid, provider=provider_uuid)
        super().__init__(text, field="parent_uuid", rule=rule, provider_uuid=provider_uuid, parent_uuid=parent_uuid)
        self.rule = rule


class ProviderTaken(Conflict):
    """Another provider has the name, or this very uuid. Extra: taken ({"name" and/or "uuid": value})."""

    code: ClassVar[str] = "provider_taken"
    retryable = False

    def __init__(self, taken: dict[str, str]) -> None:
        named = ", ".join(f"{field} {value!r}" for field, value in taken.items())
        super().__init__(f"There is a resource provider with {named}.", field=next(iter(taken), None), taken=taken)
        self.taken = taken


class ProviderHasChildren(Conflict):
    """It cannot go before its children. Extra: children (how many)."""

    code: ClassVar[str] = "provider_has_children"
    retryable = False


class ProviderInUse(Conflict):
    """It cannot go while anybody holds allocations of it. Extra: consumers (how many)."""

    code: ClassVar[str] = "provider_in_use"
    retryable = False
