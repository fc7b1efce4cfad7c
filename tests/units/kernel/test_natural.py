import random

import pytest

from controlplane.kernel.natural import natural_key


@pytest.mark.parametrize(
    "ordered",
    [
        ["hv-1", "hv-2", "hv-10", "hv-100"],
        ["a", "a1", "a1b", "a2", "a10", "b"],
        ["rack1-hv2", "rack1-hv10", "rack2-hv1", "rack10-hv1"],
        ["hv-1.lab", "hv-2.lab", "hv-10.lab"],
        ["HV-1", "hv-1", "HV-2", "hv-3"],
        ["", "1", "2", "10", "x"],
        ["hv-9", "hv-" + "9" * 5000],
        ["hv-01", "hv-1", "hv-002"],
    ],
)
def test_names_stand_in_the_order_in_which_people_count(ordered: list[str]) -> None:
    shuffled = random.Random(1).sample(ordered, len(ordered))
    assert sorted(shuffled, key=natural_key) == ordered
