"""No message of a host is without bounds: each text, number and list of the agents' protocol has its own."""

import pytest
from msgspec import inspect

from tests.fixtures.agent_messages import ALL_VERBS, Leaf, leaves

JUDGED_BY_SERVICES = {"report.cpu_info[...]", "report.stats[...]", "report.metrics[...]", "measures.metrics[...]"}
"""Values of JSON objects of the driver's own choice: their size is judged where they are stored."""


def lack(leaf: Leaf) -> str:
    """What is not bounded there; empty where all is."""
    of = leaf.type
    if isinstance(of, inspect.StrType | inspect.BytesType):
        return "" if of.max_length is not None else "length of the text"
    if isinstance(of, inspect.IntType | inspect.FloatType):
        return "" if None not in (of.ge, of.le) else "size of the number"
    if isinstance(of, inspect.TupleType):
        return ""
    if isinstance(of, inspect.DictType | inspect.CollectionType):
        return "" if of.max_length is not None else "number of entries"
    return "" if leaf.field in JUDGED_BY_SERVICES else "type of the value"


@pytest.mark.parametrize("verb", sorted(ALL_VERBS))
def test_everything_that_a_host_says_has_bounds(verb: str) -> None:
    assert {leaf.field: lack(leaf) for leaf in leaves(verb) if lack(leaf)} == {}
