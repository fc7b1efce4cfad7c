"""Host names as the database sorts and pages them."""

import random

import pytest

from controlplane.infra.natural_order import natural_order
from controlplane.kernel.natural import natural_key
from placement.models import ResourceProvider

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
