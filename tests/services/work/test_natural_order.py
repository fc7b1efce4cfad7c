"""Host names as the database sorts and pages them."""

import random

import pytest

from controlplane.infra.natural_order import natural_order
from controlplane.kernel.natural import natural_key
from placement.models import ResourceProvider
from placement.selectors.providers import provider_list

pytestmark = pytest.mark.django_db

NAMES = [
    *(f"hv-{number}" for number in (1, 2, 3, 10, 11, 100)),
    *(f"node{number}.lab.example" for number in (1, 2, 10)),
    "zeta",
]


def test_names_stand_in_the_order_in_which_people_count() -> None:
    for name in random.Random(1).sample(NAMES, len(NAMES)):
        ResourceProvider.objects.create(name=name)

    found = list(ResourceProvider.objects.order_by(*natural_order("name")).values_list("name", flat=True))

    assert found == NAMES == sorted(NAMES, key=natural_key)


def test_providers_stand_tree_by_tree() -> None:
    for name in ("hv-10", "hv-2", "hv-1"):
        root = ResourceProvider.objects.create(name=name)
        ResourceProvider.objects.create(name=f"{name}-gpu", parent=root, root=root)

    found = [row.name for row in provider_list()]

    assert found == ["hv-1", "hv-1-gpu", "hv-2", "hv-2-gpu", "hv-10", "hv-10-gpu"]
