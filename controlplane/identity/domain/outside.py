"""People who are known elsewhere, in an LDAP directory or at an OpenID provider, and what their groups are here."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from controlplane.identity.domain.role import Role

SUPERUSER = "superuser"


class Source(StrEnum):
    """Who answers for a person."""

    LDAP = "ldap"
    OIDC = "oidc"


@dataclass(frozen=True, slots=True)
class OutsidePerson:
    """A person as the source tells. `issuer` and `subject` together never change and are never given to another one;
    the name may.
    """

    source: Source
    issuer: str
    subject: str
    username: str
    email: str = ""
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class OutsideGroupRule:
    """Members of `group` have `role` in the project of this name; with no role they are superusers."""

    group: str
    project: str = ""
    role: Role | None = None


def group_rules(words: Iterable[str]) -> tuple[OutsideGroupRule, ...]:
    """Rules of `GROUP=PROJECT:ROLE` and `GROUP=superuser`. Raises ValueError with what is wrong."""
    return tuple(_rule(word) for word in words)


def _rule(word: str) -> OutsideGroupRule:
    group, separator, right = word.rpartition("=")
    if not separator or not group:
        raise ValueError(f"{word!r} is not GROUP=PROJECT:ROLE and not GROUP={SUPERUSER}")
    if right == SUPERUSER:
        return OutsideGroupRule(group)
    project, _, role = right.rpartition(":")
    if not project or role not in set(Role):
        raise ValueError(f"{word!r} names no project with one of the roles {', '.join(Role)}")
    return OutsideGroupRule(group, project, Role(role))


def group_rules_problem(words: tuple[str, ...]) -> str:
    """For the settings that hold such rules."""
    try:
        group_rules(words)
    except ValueError as error:
        return f"must be rules for groups: {error}"
    return ""


def roles_of_groups(rules: Iterable[OutsideGroupRule], groups: Collection[str]) -> set[tuple[str, Role]]:
    """Names of projects with the roles that members of these groups have in them."""
    return {(rule.project, rule.role) for rule in rules if rule.role is not None and rule.group in groups}


def is_superuser_by_groups(rules: Iterable[OutsideGroupRule], groups: Collection[str]) -> bool:
    """Whether one of the groups is that of superusers."""
    return any(rule.role is None and rule.group in groups for rule in rules)
