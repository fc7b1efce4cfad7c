"""Names as the database sorts and pages them."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controlplane.infra.natural_order import natural_order
from controlplane.kernel.natural import WIDTH, natural_key
from placement.models import ResourceProvider
from placement.selectors.providers import provider_list

pytestmark = pytest.mark.django_db

NAMES = [
    "",
    "2",
    "10",
    "10.0.0.9",
    "10.0.0.10",
    "a2b2",
    "a2b10",
    "a10b1",
    "Hv",
    *(f"hv-{number}" for number in (1, 2, 3, 10, 11, 100)),
    *(f"hv-2-{number}" for number in (9, 10)),
    "hv-10-1",
    "it's 100 % sure 2",
    "it's 100 % sure 10",
    *(f"node{number}.lab2.example" for number in (1, 2, 10)),
    "r2/c2/u9/9",
    "r2/c2/u9/10",
    "zeta",
    *(f"网站-{number}" for number in (2, 10)),
]


def sorted_by_database(names: list[str]) -> list[str]:
    ResourceProvider.objects.bulk_create(ResourceProvider(name=name) for name in names)
    return list(ResourceProvider.objects.order_by(*natural_order("name")).values_list("name", flat=True))


def test_names_stand_in_the_order_in_which_people_count() -> None:
    found = sorted_by_database(random.Random(1).sample(NAMES, len(NAMES)))

    assert found == sorted(NAMES, key=natural_key)
    assert found.index("hv-2-10") == found.index("hv-2-9") + 1
    assert found.index("hv-10-1") > found.index("hv-2-10")


NAME = st.lists(st.tuples(st.text("ab-._ '%\"", max_size=3), st.integers(0, 10**9).map(str)), max_size=3).map(
    lambda parts: "x" + "".join(text + number for text, number in parts)
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(NAME, unique=True, max_size=12))
def test_the_database_counts_as_memory_does(names: list[str]) -> None:
    ResourceProvider.objects.all().delete()

    assert sorted_by_database(names) == sorted(names, key=natural_key)


def test_a_number_longer_than_all_is_no_error() -> None:
    names = ["n" + "9" * (WIDTH + 5), "n1", "n2"]

    assert sorted_by_database(names)[:2] == ["n1", "n2"]


def test_providers_stand_tree_by_tree() -> None:
    for name in ("hv-10", "hv-2", "hv-1"):
        root = ResourceProvider.objects.create(name=name)
        ResourceProvider.objects.create(name=f"{name}-gpu", parent=root, root=root)

    found = [row.name for row in provider_list()]

    assert found == ["hv-1", "hv-1-gpu", "hv-2", "hv-2-gpu", "hv-10", "hv-10-gpu"]
