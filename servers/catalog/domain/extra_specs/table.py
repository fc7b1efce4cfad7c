"""All rules in one table, and the judgement of one key with its value.

Nova's rule, as its API applies it from version 2.86 on: a known key's value is checked; an unknown key in a namespace
that is known is refused; any other key is the operator's own and taken as it is.
"""

import re

from servers.catalog.domain.extra_specs.hw_cpu import HW_CPU_RULES
from servers.catalog.domain.extra_specs.hw_devices import HW_DEVICE_RULES
from servers.catalog.domain.extra_specs.match_keys import MATCH_RULES
from servers.catalog.domain.extra_specs.other_keys import OTHER_RULES
from servers.catalog.domain.extra_specs.placement_keys import PLACEMENT_RULES, did_you_mean
from servers.catalog.domain.extra_specs.quota_keys import QUOTA_RULES
from servers.catalog.domain.extra_specs.rules import SUFFIX, KeyRule, key_pattern, value_complaint

EXTRA_SPEC_RULES: tuple[KeyRule, ...] = (
    *PLACEMENT_RULES,
    *HW_CPU_RULES,
    *HW_DEVICE_RULES,
    *OTHER_RULES,
    *MATCH_RULES,
    *QUOTA_RULES,
)

KNOWN_NAMESPACES: frozenset[str] = frozenset(rule.namespace for rule in EXTRA_SPEC_RULES) - {""}

_BY_KEY = {rule.key: rule for rule in EXTRA_SPEC_RULES if not rule.is_family}
_FAMILIES = tuple((key_pattern(rule), rule) for rule in EXTRA_SPEC_RULES if rule.is_family)
_GROUPED = re.compile(rf"(?P<namespace>resources|trait)({SUFFIX})?")


def rule_of(key: str) -> KeyRule | None:
    """The rule for a key; None for keys that are not in the table."""
    return _BY_KEY.get(key) or next((rule for pattern, rule in _FAMILIES if pattern.fullmatch(key)), None)


def extra_spec_complaint(key: str, value: str) -> str:
    """What is wrong with one extra spec, as a sentence that names the key and what is allowed; else empty."""
    if rule := _BY_KEY.get(key):
        return value_complaint(key, value, rule.allowed)
    for pattern, rule in _FAMILIES:
        if found := pattern.fullmatch(key):
            name = rule.name_complaint(found.groupdict().get("name") or "")
            return f"{key}: {name}" if name else value_complaint(key, value, rule.allowed)
    namespace = namespace_of(key)
    if not namespace:
        return ""
    keys = [rule.key for rule in EXTRA_SPEC_RULES if rule.namespace == namespace]
    spelled = [known.replace("{node}", "0").replace("{fields}", "") for known in keys if "{key}" not in known]
    return f"{key}: is not a key of the namespace {namespace}.{did_you_mean(key, spelled)}"


def namespace_of(key: str) -> str:
    """The namespace of the table that a key lies in; empty when it has none, or one that is not known."""
    head, colon, _ = key.partition(":")
    if grouped := _GROUPED.fullmatch(head):
        head = grouped["namespace"]
    return head if colon and head in KNOWN_NAMESPACES else ""
