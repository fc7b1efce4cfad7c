"""A process with a fleet snapshot of its own. Each line of input is a word with arguments; each gets a line of answer.

make UUID VCPUS | claim UUID VCPUS | trait UUID NAME | drop UUID: write; the answer is "done".
search VCPUS | having VCPUS NAME: the uuids of the candidates, sorted, as JSON.
"""

import json
import sys
from uuid import UUID, uuid4

import django

django.setup()


from placement.candidates import CandidateQuery, RequestGroup  # noqa: E402
from placement.domain import Claim, InventorySpec  # noqa: E402
from placement.selectors import candidate_search  # noqa: E402
from placement.services import (  # noqa: E402
    allocations_claim,
    inventory_set,
    provider_delete,
    provider_ensure,
    provider_traits_set,
)


def search(vcpus: str, *traits: str) -> list[str]:
    """Who can give so much."""
    required = tuple(frozenset({trait}) for trait in traits)
    answer = candidate_search(CandidateQuery((RequestGroup("", {"VCPU": int(vcpus)}, required),)))
    return sorted(str(host) for candidate in answer.candidates for host in candidate.allocations)


def write(word: str, host: UUID, *rest: str) -> str:
    """One change, committed."""
    if word == "make":
        provider_ensure(host, f"host-{host}")
        inventory_set(host, {"VCPU": InventorySpec(total=int(rest[0]))})
    elif word == "claim":
        allocations_claim([Claim(uuid4(), UUID(int=1), UUID(int=2), {host: {"VCPU": int(rest[0])}})])
    elif word == "trait":
        provider_traits_set(host, {rest[0]})
    else:
        provider_delete(host)
    return "done"


def main() -> None:
    """Answer until the input ends."""
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        word, *rest = line.split()
        answer = search(*rest) if word in {"search", "having"} else write(word, UUID(rest[0]), *rest[1:])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
