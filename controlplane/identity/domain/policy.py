"""Who may do what, by the rules in force: those of the table, with what the operator's file says instead.

The one function that every door asks. A rule that is not in the table is refused, loudly.
"""

from collections.abc import Mapping
from dataclasses import replace

from controlplane.identity.domain.access_rules import DEFAULT_RULES, AccessRule, RuleRoles
from controlplane.identity.domain.caller import Caller
from controlplane.identity.domain.errors import ProjectNeeded
from controlplane.identity.domain.role import Role
from controlplane.kernel.errors import Forbidden
from controlplane.kernel.texts import any_of
from controlplane.kernel.texts import phrase as _

_in_force: dict[str, AccessRule] = dict(DEFAULT_RULES)


class UnknownActionError(LookupError):
    """Code asked for an action that the table does not have: a mistake in the program, never the caller's."""


def rules_replace(changed: Mapping[str, RuleRoles]) -> None:
    """Put the table in force with these rules' roles in place of its own. Called once, when a process starts."""
    fresh = {
        name: replace(rule, who=changed[name].who, in_system=changed[name].in_system) if name in changed else rule
        for name, rule in DEFAULT_RULES.items()
    }
    _in_force.update(fresh)


def rules_in_force() -> list[AccessRule]:
    """All of them, in the order of the table."""
    return list(_in_force.values())


def rule_of(action: str) -> AccessRule:
    """The rule in force. Raises `UnknownActionError`, so that a misspelt action grants nothing."""
    try:
        return _in_force[action]
    except KeyError:
        raise UnknownActionError(f"no such action in the policy: {action!r}") from None


def min_role(action: str) -> Role:
    """The least role of people that is enough for `action`. Raises `UnknownActionError`."""
    who = rule_of(action).who
    return min(who - {Role.SERVICE} or who)


def allows(caller: Caller, action: str) -> bool:
    """Whether `caller` may do `action`: for pages that leave out what would be refused."""
    return rule_of(action).permits(caller)


def require(caller: Caller, action: str) -> None:
    """Raise `Forbidden`, with a sentence naming the action and the roles it needs, unless `caller` may do it;
    `ProjectNeeded`, which is one, where the caller is of the system and the action acts in a project.
    """
    rule = rule_of(action)
    if rule.permits(caller):
        return
    if not rule.needed(caller):
        raise ProjectNeeded(action)
    words = rule.system_words if caller.is_of_system else rule.words
    held, needed = ", ".join(caller.role_names) or "none", any_of(words)
    where = _("the system") if caller.is_of_system else _("project {project_name}", project_name=caller.project_name)
    raise Forbidden(
        _(
            "{action} needs the role {needed}; {username} has {held} in {where}.",
            action=action,
            needed=needed,
            username=caller.username,
            held=held,
            where=where,
        ),
        action=action,
        needed=needed,
        held=caller.role_names,
    )
