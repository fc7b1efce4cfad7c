"""The grammar of a flavor's extra specs: which keys exist, what their values may be, which exclude each other.

`extra_spec_complaint` judges one pair, `flavor_extra_spec_problems` a whole flavor; both are pure. The rules are rows
of `table.EXTRA_SPEC_RULES`; the contradictions are those that Nova answers with a refusal at every boot.
"""

from servers.catalog.domain.extra_specs.judge import (
    CONTRADICTIONS,
    contradictions,
    extra_spec_problems,
    flavor_extra_spec_problems,
)
from servers.catalog.domain.extra_specs.table import EXTRA_SPEC_RULES, KNOWN_NAMESPACES, extra_spec_complaint, rule_of

__all__ = [
    "CONTRADICTIONS",
    "EXTRA_SPEC_RULES",
    "KNOWN_NAMESPACES",
    "contradictions",
    "extra_spec_complaint",
    "extra_spec_problems",
    "flavor_extra_spec_problems",
    "rule_of",
]
