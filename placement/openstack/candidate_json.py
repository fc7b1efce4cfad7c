"""The answer to a candidate search, as bytes: fast, because an answer may well name a thousand providers.

The text about a provider is cached with its facts and sent again as it is. A candidate that takes all from one
provider, which is what a fleet without trees gives, is one text with another uuid.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import cast
from uuid import UUID

import numpy as np
import orjson

from controlplane.openstack.answers import JsonText
from placement.candidates.answers import AlikeCandidates
from placement.candidates.facts import ProviderFacts
from placement.candidates.query import AllocationCandidate, CandidateAnswer, CandidateQuery
from placement.domain.names import CUSTOM_PREFIX
from placement.openstack.candidate_names import classes_asked
from placement.openstack.shapes import CandidatesShown, ListedAllocation, ListedRequest, ProviderSummary

DICT_FORM_SINCE = 12
TRAITS_SINCE = 17
ALL_CLASSES_SINCE = 27
TREE_SINCE = 29
MAPPINGS_SINCE = 34

_UUID_LENGTH = 36


def candidates_json(answer: CandidateAnswer, query: CandidateQuery, minor: int) -> JsonText[CandidatesShown]:
    """The body of GET /allocation_candidates in the form of this minor version."""
    requests = b",".join(_requests(answer.candidates, query, minor))
    summaries = b",".join(_summaries(answer.summaries, query, minor))
    text = b'{"allocation_requests":[%b],"provider_summaries":{%b}}' % (requests, summaries)
    return cast("JsonText[CandidatesShown]", text)


def _requests(candidates: Sequence[AllocationCandidate], query: CandidateQuery, minor: int) -> Iterable[bytes]:
    if minor < DICT_FORM_SINCE:
        return (orjson.dumps(_listed(one)) for one in candidates)
    has_mappings = minor >= MAPPINGS_SINCE
    if isinstance(candidates, AlikeCandidates):
        return [_alike(candidates, has_mappings=has_mappings)] if candidates else []
    return _from_several_providers(candidates, has_mappings=has_mappings)


def _alike(candidates: AlikeCandidates, *, has_mappings: bool) -> bytes:
    """All of them at once: one text as often as there are candidates, and the uuids put into it as columns."""
    blank = b" " * _UUID_LENGTH
    amounts = orjson.dumps(dict(candidates.amounts))
    mappings = b',"mappings":{"%b":["%b"]}' % (candidates.suffix.encode(), blank) if has_mappings else b""
    one = b'{"allocations":{"%b":{"resources":%b}}%b},' % (blank, amounts, mappings)
    uuids = np.frombuffer(orjson.dumps(candidates.uuids)[1:-1] + b",", np.uint8).reshape(len(candidates), -1)[:, 1:-2]
    text = np.tile(np.frombuffer(one, np.uint8), (len(candidates), 1))
    for place in [one.index(blank), *([one.rindex(blank)] if has_mappings else [])]:
        text[:, place : place + _UUID_LENGTH] = uuids
    return text.tobytes()[:-1]


def _texts(uuids: Collection[UUID]) -> Iterator[bytes]:
    """The text of each, all written at once: ["...","..."] has one every 39 bytes."""
    joined = orjson.dumps(uuids)
    return (joined[start : start + _UUID_LENGTH] for start in range(2, len(joined) - 1, _UUID_LENGTH + 3))


def _from_several_providers(candidates: Sequence[AllocationCandidate], *, has_mappings: bool) -> Iterator[bytes]:
    uuids = {uuid for one in candidates for uuid in chain(one.allocations, *one.mappings.values())}
    texts = dict(zip(uuids, _texts(list(uuids)), strict=True))
    # The search uses one object for equal amounts again and again, and the candidates keep it alive.
    amounts: dict[int, bytes] = {}
    for one in candidates:
        taken = []
        for uuid, resources in one.allocations.items():
            text = amounts.get(id(resources)) or amounts.setdefault(id(resources), orjson.dumps(dict(resources)))
            taken.append(b'"%b":{"resources":%b}' % (texts[uuid], text))
        mappings = b',"mappings":{%b}' % _mappings(one, texts) if has_mappings else b""
        yield b'{"allocations":{%b}%b}' % (b",".join(taken), mappings)


def _mappings(candidate: AllocationCandidate, texts: Mapping[UUID, bytes]) -> bytes:
    return b",".join(
        b'"%b":["%b"]' % (suffix.encode(), b'","'.join([texts[uuid] for uuid in uuids]))
        for suffix, uuids in candidate.mappings.items()
    )


def _listed(candidate: AllocationCandidate) -> ListedRequest:
    taken: list[ListedAllocation] = [
        {"resource_provider": {"uuid": uuid}, "resources": dict(resources)}
        for uuid, resources in candidate.allocations.items()
    ]
    return {"allocations": taken}


def _summaries(providers: Sequence[ProviderFacts], query: CandidateQuery, minor: int) -> Iterable[bytes]:
    if minor < ALL_CLASSES_SINCE:
        classes = classes_asked(query)
        return (_pair(facts, _summary(facts, minor, classes)) for facts in providers)
    form = TREE_SINCE if minor >= TREE_SINCE else ALL_CLASSES_SINCE
    key = ("summary", form)
    return [facts.rendered.get(key) or _cached(facts, key, form) for facts in providers]


def _cached(facts: ProviderFacts, key: tuple[str, int], minor: int) -> bytes:
    text = facts.rendered[key] = _pair(facts, _summary(facts, minor, facts.inventories))
    return text


def _pair(facts: ProviderFacts, summary: ProviderSummary) -> bytes:
    return b'"%b":%b' % (str(facts.uuid).encode(), orjson.dumps(summary))


def _summary(facts: ProviderFacts, minor: int, classes: Collection[str]) -> ProviderSummary:
    summary: ProviderSummary = {
        "resources": {
            name: {"capacity": usage.capacity, "used": usage.used}
            for name, usage in facts.inventories.items()
            if name in classes
        }
    }
    if minor >= TRAITS_SINCE:
        summary["traits"] = sorted(facts.traits, key=_standard_first)
    if minor >= TREE_SINCE:
        summary["parent_provider_uuid"] = facts.parent_uuid
        summary["root_provider_uuid"] = facts.root_uuid
    return summary


def _standard_first(trait: str) -> tuple[bool, str]:
    """The original lists traits in the order in which it came to know them."""
    return trait.startswith(CUSTOM_PREFIX), trait
