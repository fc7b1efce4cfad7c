"""A flavor as far as its extra specs are judged by it, and the reading of those that several rules need."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from servers.catalog.domain.extra_specs.rules import SUFFIX

KeyFinding = tuple[str, str]
"""The key at fault and a sentence that names it."""
Findings = Iterator[KeyFinding]

_EXPLICIT_CPUS = re.compile(rf"resources({SUFFIX})?:(VCPU|PCPU)")
_HYPERTHREADING = re.compile(rf"trait({SUFFIX})?:HW_CPU_HYPERTHREADING")


@dataclass(frozen=True, slots=True)
class FlavorFacts:
    """Extra specs whose values are well formed each, with the sizes that they are held against."""

    specs: Mapping[str, str]
    vcpus: int
    memory_mib: int


Contradiction = Callable[[FlavorFacts], Findings]
"""A rule about several keys; its docstring is what the documents say of it."""


def explicit_cpus(specs: Mapping[str, str], resource_class: str) -> int:
    """CPUs that `resources:` keys ask for, over all groups: as the boot reckons (Nova overlooks groups with words)."""
    found = ((_EXPLICIT_CPUS.fullmatch(key), value) for key, value in specs.items())
    return sum(int(value) for match, value in found if match and match[2] == resource_class)


def explicit_cpu_keys(specs: Mapping[str, str], resource_class: str) -> list[str]:
    """The keys of `explicit_cpus` that ask for more than 0."""
    found = ((_EXPLICIT_CPUS.fullmatch(key), key, value) for key, value in specs.items())
    return [key for match, key, value in found if match and match[2] == resource_class and int(value) > 0]


def hyperthreading_keys(specs: Mapping[str, str]) -> list[str]:
    """Keys that require or forbid hardware threads by their trait."""
    return [key for key in specs if _HYPERTHREADING.fullmatch(key)]


def settled_cpu_policy(specs: Mapping[str, str]) -> str | None:
    """The CPU policy that no image can change: named, or implied by `resources:PCPU` or VCPU. None when it is open."""
    if explicit_cpus(specs, "PCPU"):
        return "dedicated"
    if explicit_cpus(specs, "VCPU"):
        return "shared"
    return specs.get("hw:cpu_policy")


def indexed(specs: Mapping[str, str], stem: str) -> dict[int, str]:
    """The values of `stem.0`, `stem.1` and so on, by node."""
    return {int(key.removeprefix(f"{stem}.")): value for key, value in specs.items() if key.startswith(f"{stem}.")}
