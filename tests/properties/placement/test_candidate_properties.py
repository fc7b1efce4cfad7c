"""The vector search agrees with the reasons, provider by provider, whatever the fleet."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from placement.candidates import CandidateQuery, ProviderFacts, candidates_find, columns_of, refusal_of
from placement.domain import InventoryUsage

CLASSES, TRAITS = ["VCPU", "MEMORY_MB", "CUSTOM_X"], ["T1", "T2", "T3"]
UUIDS = [UUID(int=number) for number in range(1, 6)]
AGGREGATES = [UUID(int=number) for number in range(100, 103)]

usages = st.builds(
    InventoryUsage,
    total=st.integers(1, 20),
    reserved=st.just(0),
    allocation_ratio=st.just(1.0),
    used=st.integers(0, 20),
    capacity=st.integers(0, 20),
    min_unit=st.integers(1, 4),
    max_unit=st.integers(1, 20),
    step_size=st.integers(1, 3),
)
facts = st.builds(
    ProviderFacts,
    uuid=st.sampled_from(UUIDS),
    root_uuid=st.sampled_from(UUIDS),
    inventories=st.dictionaries(st.sampled_from(CLASSES), usages),
    traits=st.frozensets(st.sampled_from(TRAITS)),
    aggregates=st.frozensets(st.sampled_from(AGGREGATES)),
)
fleets = st.lists(facts, max_size=5, unique_by=lambda one: one.uuid)
queries = st.builds(
    CandidateQuery,
    resources=st.dictionaries(st.sampled_from(CLASSES), st.integers(1, 12), max_size=2),
    required_traits=st.frozensets(st.sampled_from(TRAITS), max_size=1),
    forbidden_traits=st.frozensets(st.sampled_from(TRAITS), max_size=1),
    member_of=st.lists(st.frozensets(st.sampled_from(AGGREGATES), min_size=1), max_size=2).map(tuple),
    forbidden_aggregates=st.frozensets(st.sampled_from(AGGREGATES), max_size=1),
    in_tree=st.none() | st.sampled_from(UUIDS),
)


@given(fleet=fleets, query=queries)
def test_candidate_exactly_where_there_is_no_refusal(fleet, query):
    columns = columns_of(fleet)

    found = candidates_find(columns, query)

    assert list(found.uuids) == [uuid for uuid in columns.uuids if refusal_of(columns, query, uuid) is None]
