"""How long the body of GET /allocation_candidates takes to write, in this process: no HTTP, no database, no search.

    python -m bench.placement_render [--providers 1000] [--rounds 50]

One line per form of the answer: milliseconds of the first answer, which says everything about each provider for the
first time; the median of the later ones, which repeat it; and bytes. Every provider is a candidate: VCPU, MEMORY_MB
and DISK_GB with some usage, six traits.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from uuid import UUID, uuid5

from placement.candidates.answers import AlikeCandidates
from placement.candidates.facts import ProviderFacts
from placement.candidates.query import AllocationCandidate, CandidateAnswer, CandidateQuery, RequestGroup
from placement.domain import InventoryUsage
from placement.openstack.candidate_json import candidates_json

SPACE = UUID("7b0f3a3e-5f0a-4f0e-9f57-8e6a2f1f3d11")
AMOUNTS = {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 20}
TOTALS = {"VCPU": 64, "MEMORY_MB": 2**19, "DISK_GB": 4096}
TRAITS = frozenset(
    ("COMPUTE_NODE", "COMPUTE_TRUSTED_CERTS", "HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_CPU_X86_SSE42", "CUSTOM_RACK_1")
)
FORMS = {
    "1.36, one provider each": (36, 1),
    "1.28, one provider each": (28, 1),
    "1.26, one provider each": (26, 1),
    "1.36, host and child": (36, 2),
}


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--providers", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=50)
    options = parser.parse_args()
    print(f"{'form':<28}{'first ms':>10}{'median ms':>11}{'bytes':>10}")
    for name, (minor, per_candidate) in FORMS.items():
        first, median, size = _measured(options.providers, options.rounds, minor, per_candidate)
        print(f"{name:<28}{first:>10.2f}{median:>11.2f}{size:>10}")


def _measured(providers: int, rounds: int, minor: int, per_candidate: int) -> tuple[float, float, int]:
    answer = _answer(providers, per_candidate)
    query = CandidateQuery(groups=(RequestGroup(resources=AMOUNTS),))
    body = candidates_json(_answer(1, per_candidate), query, minor)  # so that the first is not the imports' either
    first, body = _timed(lambda: candidates_json(answer, query, minor))
    later = [_timed(lambda: candidates_json(answer, query, minor))[0] for _ in range(rounds)]
    return first, statistics.median(later), len(body)


def _timed(work: Callable[[], bytes]) -> tuple[float, bytes]:
    start = time.perf_counter()
    body = work()
    return (time.perf_counter() - start) * 1000, body


def _answer(providers: int, per_candidate: int) -> CandidateAnswer:
    facts = [_facts(number) for number in range(providers)]
    groups = [facts[start : start + per_candidate] for start in range(0, providers, per_candidate)]
    if per_candidate == 1:
        return CandidateAnswer(AlikeCandidates([one.uuid for one in facts], AMOUNTS, ""), facts)
    return CandidateAnswer([_candidate([one.uuid for one in group]) for group in groups], facts)


def _candidate(uuids: list[UUID]) -> AllocationCandidate:
    return AllocationCandidate(dict.fromkeys(uuids, AMOUNTS), {"": tuple(uuids)})


def _facts(number: int) -> ProviderFacts:
    uuid = uuid5(SPACE, f"provider {number}")
    inventories = {
        name: _usage(total, number % 10) for name, total in (("VCPU", 64), ("MEMORY_MB", 2**19), ("DISK_GB", 4096))
    }
    return ProviderFacts(uuid=uuid, root_uuid=uuid, inventories=inventories, traits=TRAITS)


def _usage(total: int, used: int) -> InventoryUsage:
    return InventoryUsage(total, 0, 1.0, used, total, 1, total, 1)


if __name__ == "__main__":
    main()
