"""A flavor's extra specs as a whole: by key, and what an edit is held responsible for."""

import pytest

from servers.catalog.domain.extra_specs import extra_spec_problems, flavor_extra_spec_problems
from servers.catalog.domain.flavor_rules import flavor_problems


@pytest.mark.parametrize("specs", [[], "x", 5, None])
def test_extra_specs_that_are_no_object_are_refused_as_a_whole(specs):
    assert extra_spec_problems(specs) == {"": ["Must be an object of text values."]}


@pytest.mark.parametrize(
    ("key", "value", "part"),
    [
        ("hw:cpu_policy", 5, "Must be text"),
        ("own", None, "Must be text"),
        ("hw:cpu_policy", "x" * 256, "at most 255"),
        ("own", "nul\x00", "cannot be stored"),
        ("a/b", "x", "1 to 255 letters"),
        ("", "x", "1 to 255 letters"),
        ("k" * 256, "x", "1 to 255 letters"),
        (5, "x", "1 to 255 letters"),
    ],
)
def test_pair_that_is_no_text_is_refused(key, value, part):
    ((reason,),) = extra_spec_problems({key: value}).values()
    assert part in reason


def test_each_wrong_key_has_its_own_reasons():
    found = flavor_extra_spec_problems(
        {"hw:cpu_policy": "x", "quota:cpu_shares": "-1", "hw:numa_nodes": "3", "mine": "1"}, vcpus=4, memory_mib=4096
    )
    assert set(found) == {"hw:cpu_policy", "quota:cpu_shares", "hw:numa_nodes"}


SIZES = {"name": "f", "vcpus": 4, "memory_mib": 4096}


def test_problem_is_found_at_the_dotted_field():
    assert list(flavor_problems({**SIZES, "extra_specs": {"hw:cpu_policy": "x"}})) == ["extra_specs.hw:cpu_policy"]


def test_fields_without_sizes_are_judged_pair_by_pair():
    assert list(flavor_problems({"extra_specs": {"hw:numa_nodes": "3", "hw:pmu": "x"}})) == ["extra_specs.hw:pmu"]


def test_new_size_is_held_against_the_stored_extra_specs():
    stored = {**SIZES, "extra_specs": {"hw:numa_nodes": "2"}}
    assert list(flavor_problems({"vcpus": 3}, stored=stored)) == ["extra_specs.hw:numa_nodes"]


def test_new_extra_specs_are_held_against_the_stored_sizes():
    found = flavor_problems({"extra_specs": {"hw:numa_nodes": "3"}}, stored={**SIZES, "extra_specs": {}})
    assert "4 vCPUs and 4096 MB" in found["extra_specs.hw:numa_nodes"][0]


OLD = {**SIZES, "extra_specs": {"hw:gone": "1", "hw:cpu_policy": "mixed"}}


def test_what_was_wrong_before_does_not_stop_an_edit_of_something_else():
    assert flavor_problems({**OLD, "description": "new"}, stored=OLD) == {}
    assert flavor_problems({"extra_specs": {**OLD["extra_specs"], "mine": "1"}, "vcpus": 8}, stored=OLD) == {}


def test_old_mistake_that_is_edited_is_judged_again():
    found = flavor_problems({"extra_specs": {"hw:gone": "1", "hw:cpu_policy": "mine"}}, stored=OLD)
    assert list(found) == ["extra_specs.hw:cpu_policy"]
