import json
from typing import Any

import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.filters.json_query import JsonFilter, evaluate
from tests.units.scheduling.worlds import chosen, host, policy, refused, request, run, table

HOST = {"free_ram_mb": 1024, "host": "a", "stats": {"rack": "r1", "deep": {"er": 3}}, "text": "", "none": None}
FLEET = table(
    host("a", num_instances=1, stats={"rack": "r1"}),
    host("b", num_instances=2, stats={"rack": "r2"}),
    host("c", num_instances=3),
)


@pytest.mark.parametrize(
    ("query", "result"),
    [
        ([], True),
        (["=", 1, 1], True),
        (["=", 1, 1, 2], False),  # with all of the others
        (["<", 1, 2, 3], True),
        (["<", 1, 2, 1], False),
        ([">", 3, 2, 1], True),
        (["<=", 1, 1, 2], True),
        ([">=", 2, 2, 1], True),
        ([">=", 2, 3], False),
        (["in", 1, 3, 2, 1], True),
        (["in", 1, 3, 2], False),
        (["=", 1], False),  # too few
        (["in", 1], False),
        (["="], False),
        (["not", True, False], [False, True]),
        (["or", False, True], True),
        (["or", False], False),
        (["and", True, False], False),
        (["and"], True),
        (["=", "$host", "a"], True),
        (["=", "$free_ram_mb", 1024], True),
        (["=", "$stats.rack", "r1"], True),
        (["=", "$stats.deep.er", 3], True),
        (["=", "$unknown", "$unknown"], False),  # dropped, so too few
        (["=", "$stats.unknown", 1], False),
        (["=", "$host.length", 1], False),  # no dictionary
        (["=", "$none", "$none"], False),
        (["=", "", ""], False),  # empty text is dropped
        (["and", [">=", "$free_ram_mb", 512], ["=", "$stats.rack", "r1"]], True),
        (["or", ["=", "$host", "x"], ["=", "$host", "y"]], False),
        (["or", ["not", True]], True),  # a list with something in it is true, as in Nova
    ],
)
def test_expression_has_novas_value(query: list[Any], result: Any) -> None:
    assert evaluate(query, HOST) == result


@pytest.mark.parametrize("query", [["xor", True], {"=": 1}, "text", 7, [["="]], [1, 2]])
def test_other_forms_cannot_be_read(query: Any) -> None:
    with pytest.raises(ValueError, match=r"operator"):
        evaluate(query, HOST)


@pytest.mark.parametrize(
    ("query", "passing"),
    [
        (None, ["a", "b", "c"]),
        ([], ["a", "b", "c"]),
        ([">=", "$num_instances", 2], ["b", "c"]),
        (["and", [">=", "$num_instances", 2], ["=", "$stats.rack", "r2"]], ["b"]),
        (["in", "$host", "a", "c"], ["a", "c"]),
        (["=", "$nodename", "b.lab"], ["b"]),
        (["=", "$enabled", True], ["a", "b", "c"]),  # an attribute that is no column
        (["not", ["=", "$host", "a"]], ["b", "c"]),
        (["not", ["=", "$host", "a"], False], ["a", "b", "c"]),  # any of the list
        (["=", "$no_such_attribute", 1], []),
        (["=", 1, 1], ["a", "b", "c"]),
        (["=", "$service.host", "c"], ["c"]),
    ],
)
def test_query_is_asked_of_each_host(query: Any, passing: list[str]) -> None:
    hints = {} if query is None else {"query": (json.dumps(query),)}
    found = refused(JsonFilter(), FLEET, request(hints=hints))
    assert [name for name in FLEET.hosts if name not in found] == passing


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("{not json", "Expecting property name"),
        ('["xor", 1, 2]', "there is no operator xor"),
        ('["<", "$host", 3]', "not supported between"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_query_that_cannot_be_read_fits_no_host_and_says_why(text: str, detail: str) -> None:
    found = refused(JsonFilter(), FLEET, request(hints={"query": (text,)}))
    assert set(found) == {"a", "b", "c"}
    assert detail in found["a"].detail
    assert found["a"].reason is RefusalReason.QUERY_NOT_MET


def test_refusal_repeats_the_query_but_not_all_of_a_long_one() -> None:
    text = json.dumps(["in", "$host", *("x" * 50 for _ in range(50))])
    refusal = refused(JsonFilter(), FLEET, request(hints={"query": (text,)}))["a"]
    assert refusal.wanted == text[:200]


def test_instances_of_the_batch_count() -> None:
    asked = request(2, hints={"query": ('["<", "$num_instances", 2]',)})
    fleet = table(host("a", num_instances=1), host("b", num_instances=0))
    assert sorted(chosen(run(fleet, asked, policy("JsonFilter")))) == ["a", "b"]
