"""Why a provider cannot be made, changed or deleted: typed, so that each door can give its own code."""

from enum import StrEnum
from typing import ClassVar
from uuid import UUID

from controlplane.kernel.errors import Conflict, Invalid
from controlplane.kernel.texts import Phrase, gettext_noop
from controlplane.kernel.texts import phrase as _


class ParentRule(StrEnum):
    """What is wrong with the parent that a client asks for. The last two: its API version cannot move providers."""

    UNKNOWN = "unknown"
    ITSELF = "itself"
    LOOP = "loop"
    MOVE = "move"
    DETACH = "detach"


_SENTENCES = {
    ParentRule.UNKNOWN: gettext_noop("{parent} cannot be the parent of {provider}: no such provider."),
    ParentRule.ITSELF: gettext_noop("{parent} cannot be its own parent."),
    ParentRule.LOOP: gettext_noop("{parent} lies below {provider}: a tree has no loops."),
    ParentRule.MOVE: gettext_noop("{provider} has another parent already, which stays."),
    ParentRule.DETACH: gettext_noop("{provider} has a parent, which stays."),
}


class ParentRefused(Invalid):
    """The parent cannot be this one; `parent_refused` makes it. Extra: rule, provider_uuid, parent_uuid."""

    code: ClassVar[str] = "parent_refused"

    @property
    def rule(self) -> ParentRule:
        """Which rule it breaks."""
        rule: ParentRule = self.extra["rule"]
        return rule


def parent_refused(rule: ParentRule, *, provider_uuid: UUID, parent_uuid: UUID | None) -> ParentRefused:
    """The error for this provider and this parent."""
    text = Phrase(_SENTENCES[rule], parent=parent_uuid, provider=provider_uuid)
    return ParentRefused(text, field="parent_uuid", rule=rule, provider_uuid=provider_uuid, parent_uuid=parent_uuid)


class ProviderTaken(Conflict):
    """Another provider has the name, or this very uuid; `provider_taken` makes it. Extra: taken."""

    code: ClassVar[str] = "provider_taken"
    retryable = False

    @property
    def taken(self) -> dict[str, str]:
        """What is taken: name, uuid or both, with the value."""
        taken: dict[str, str] = self.extra["taken"]
        return taken


def provider_taken(taken: dict[str, str]) -> ProviderTaken:
    """The error for these values."""
    named = ", ".join(f"{field} {value!r}" for field, value in taken.items())
    return ProviderTaken(
        _("There is a resource provider with {named}.", named=named), field=next(iter(taken), None), taken=taken
    )


class ProviderHasChildren(Conflict):
    """It cannot go before its children. Extra: children (how many)."""

    code: ClassVar[str] = "provider_has_children"
    retryable = False


class ProviderInUse(Conflict):
    """It cannot go while anybody holds allocations of it. Extra: consumers (how many)."""

    code: ClassVar[str] = "provider_in_use"
    retryable = False
