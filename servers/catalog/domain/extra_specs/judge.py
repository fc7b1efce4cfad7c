"""The whole of a flavor's extra specs: each pair by the table, then the pairs against each other and the flavor."""

from servers.catalog.domain.extra_specs.cpu_contradictions import CPU_CONTRADICTIONS
from servers.catalog.domain.extra_specs.device_contradictions import DEVICE_CONTRADICTIONS
from servers.catalog.domain.extra_specs.facts import Contradiction, FlavorFacts, KeyFinding
from servers.catalog.domain.extra_specs.numa_contradictions import NUMA_CONTRADICTIONS
from servers.catalog.domain.extra_specs.placement_contradictions import PLACEMENT_CONTRADICTIONS
from servers.catalog.domain.extra_specs.table import extra_spec_complaint
from servers.fields import Problems
from servers.keyed_text import keyed_problems, texts_of

VALUE_MAX_CHARS = 255
CONTRADICTIONS: tuple[Contradiction, ...] = (
    *PLACEMENT_CONTRADICTIONS,
    *CPU_CONTRADICTIONS,
    *NUMA_CONTRADICTIONS,
    *DEVICE_CONTRADICTIONS,
)


def extra_spec_problems(extra_specs: object) -> Problems:
    """What is wrong with each pair by itself: {key: sentences that name it}; the key "" is for the whole."""
    return keyed_problems(extra_specs, extra_spec_complaint, max_chars=VALUE_MAX_CHARS)


def contradictions(extra_specs: object, *, vcpus: int, memory_mib: int) -> list[KeyFinding]:
    """Pairs that no image and no host can satisfy together: (key, sentence that names it) each.

    Pairs that are wrong by themselves are left out of it; `extra_spec_problems` reports them.
    """
    wrong = extra_spec_problems(extra_specs)
    specs = {key: value for key, value in texts_of(extra_specs).items() if key not in wrong}
    flavor = FlavorFacts(specs, vcpus, memory_mib)
    return [finding for rule in CONTRADICTIONS for finding in rule(flavor)]


def flavor_extra_spec_problems(extra_specs: object, *, vcpus: int, memory_mib: int) -> Problems:
    """Both together: everything for which a flavor of this size cannot have these extra specs."""
    found = extra_spec_problems(extra_specs)
    for key, sentence in contradictions(extra_specs, vcpus=vcpus, memory_mib=memory_mib):
        found.setdefault(key, []).append(sentence)
    return found
