"""The operator's policy file: which rules of the table are for other roles.

    # YAML, or JSON. A rule's name, and the roles of which any one is enough.
    networks:write: [manager]
    instances:diagnostics: [reader, service]

`system_reader` beside the roles leaves readers of the system the rule. That is all of its grammar. A file with anything
else in it is refused as a whole, so that no process runs with half of what the operator meant.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from controlplane.identity.domain.access_rules import DEFAULT_RULES, RuleRoles
from controlplane.identity.domain.role import Role

MAX_BYTES = 256 * 1024
SYSTEM_READER = "system_reader"
"""The word for a reader in the system."""


class PolicyFileError(ValueError):
    """The file cannot be taken; the message names the line or the rule."""


class _OnceLoader(yaml.SafeLoader):
    """A name that stands twice in a mapping is an error: of two rules for one thing nobody knows which was meant."""


def _mapping_once(loader: _OnceLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key, _ in node.value:
        name = loader.construct_object(key, deep=True)
        if not isinstance(name, str):
            raise PolicyFileError(f"line {key.start_mark.line + 1}: {name!r} is no name of a rule")
        if name in seen:
            raise PolicyFileError(f"line {key.start_mark.line + 1}: {name} stands twice")
        seen.add(name)
    return dict(loader.construct_pairs(node, deep=True))


_OnceLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_once)


def policy_file_read(path: Path) -> dict[str, RuleRoles]:
    """The roles of each rule that the file names. Raises PolicyFileError."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise PolicyFileError(f"it has more than {MAX_BYTES} bytes")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyFileError(f"it cannot be read: {error}") from error
    return policy_text_read(text)


def policy_text_read(text: str) -> dict[str, RuleRoles]:
    """The same of a text. An empty one changes nothing."""
    try:
        found = yaml.load(text, Loader=_OnceLoader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as error:
        raise PolicyFileError(f"it is neither YAML nor JSON: {' '.join(str(error).split())}") from error
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise PolicyFileError("it must be a mapping of rules to lists of roles")
    return {name: _roles(name, words) for name, words in found.items()}


def _roles(name: str, words: Any) -> RuleRoles:
    if name not in DEFAULT_RULES:
        raise PolicyFileError(f"there is no rule {name:.80}")
    if not isinstance(words, list) or not words:
        raise PolicyFileError(f"{name} must name a list of at least one role")
    known = {*Role, SYSTEM_READER}
    for word in words:
        if not isinstance(word, str) or word not in known:
            raise PolicyFileError(f"{name} names {word!r:.80}, which is none of the roles {', '.join(sorted(Role))}")
    who = frozenset(Role(word) for word in words if word != SYSTEM_READER)
    if not who:
        raise PolicyFileError(f"{name} must name a role that is enough in a project")
    return RuleRoles(who, _in_system(name, who, names_reader=SYSTEM_READER in words))


def _in_system(name: str, who: frozenset[Role], *, names_reader: bool) -> frozenset[Role]:
    """An admin may what a person of any project may, a service what services may, and a reader what says so."""
    if not DEFAULT_RULES[name].in_system:
        if names_reader:
            raise PolicyFileError(
                f"{name} names {SYSTEM_READER}, and acts in a project, in which nobody of the system is"
            )
        return frozenset()
    admins = {Role.ADMIN} if who - {Role.SERVICE} else set()
    return frozenset(admins | (who & {Role.SERVICE}) | ({Role.READER} if names_reader else set()))


def policy_file_problem(path: str) -> str:
    """For the setting that names the file."""
    try:
        if path:
            policy_file_read(Path(path))
    except PolicyFileError as error:
        return f"must name a policy file that can be taken: {path}: {error}"
    return ""
