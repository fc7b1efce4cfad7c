import pytest

from servers.catalog.domain.flavor_rules import flavor_problems


def test_fine_flavor_has_no_problems():
    fields = {
        "name": "m1.tiny",
        "vcpus": 1,
        "memory_mib": 64,
        "root_gib": 0,
        "extra_specs": {"hw:cpu_policy": "shared"},
    }
    assert flavor_problems(fields) == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "x" * 256),
        ("vcpus", 0),
        ("vcpus", -1),
        ("vcpus", 2**31),
        ("memory_mib", 0),
        ("memory_mib", 1.5),
        ("root_gib", -1),
        ("ephemeral_gib", None),
        ("swap_mib", "many"),
        ("is_public", "yes"),
        ("extra_specs", []),
        ("description", "x" * 1001),
    ],
)
def test_bad_value_is_refused_at_its_field(field, value):
    assert list(flavor_problems({field: value})) == [field]
