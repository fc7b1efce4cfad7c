"""How the table of extra specs is written: one rule a key, or one for a family of keys with placeholders."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from controlplane.kernel.texts import phrase as _
from servers.catalog.domain.allowed import Allowed

SUFFIX = r"[a-zA-Z0-9_-]{1,64}"
"""What may follow `resources` and `trait` to name a group (Placement's rule since its version 1.33)."""

_PLACEHOLDERS = {
    "{node}": r"(?P<node>0|[1-9][0-9]{0,2})",
    "{group}": rf"(?P<group>{SUFFIX})?",
    "{name}": r"(?P<name>.*)",
    "{key}": r"(?P<key>.+)",
    "{fields}": r"(?P<fields>(:\w+)*)",
}
_PLACEHOLDER = re.compile(r"(\{[a-z]+\})")


def no_limit_on_names(name: str) -> str:
    """For keys that hold no name of a class or trait."""
    return ""


@dataclass(frozen=True, slots=True)
class KeyRule:
    """What one key, or a family with placeholders in its `key`, may be set to.

    `name_complaint` says what is wrong with the part of the key at `{name}`; empty when nothing is.
    """

    key: str
    allowed: Allowed
    meaning: str
    name_complaint: Callable[[str], str] = no_limit_on_names

    @property
    def namespace(self) -> str:
        """The part before the colon, without `{group}`; empty for keys without a colon."""
        return self.key.partition(":")[0].removesuffix("{group}") if ":" in self.key else ""

    @property
    def is_family(self) -> bool:
        """Whether the rule is for many keys."""
        return "{" in self.key


def key_pattern(rule: KeyRule) -> re.Pattern[str]:
    """The form of a key of this rule."""
    parts = _PLACEHOLDER.split(rule.key)
    return re.compile("".join(_PLACEHOLDERS.get(part) or re.escape(part) for part in parts))


def value_complaint(key: str, value: str, allowed: Allowed) -> str:
    """A sentence that names the key and what it may be; empty when the value is fine."""
    return (
        ""
        if allowed.fits(value)
        else _("{key}: is {value!r:.80}; it must be {allowed}.", key=key, value=value, allowed=allowed.words)
    )
