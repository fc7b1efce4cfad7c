"""What is written to a column of JSON is read again as it was, whichever library reads it."""

import pytest
from django.apps import apps
from django.db.models import JSONField

from controlplane.infra.json_field import JsonField
from servers.models import Flavor

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": [1, -2.5, None, True, "ü\u2028"], "b": {"c": ""}},
        {"long": 2**63 - 1, "longer": 2**64, "longest": -(10**30)},
        {"text of digits": "1" * 40},
        [],
        "a text",
        17,
    ],
)
def test_value_is_read_as_it_was_written(value: object) -> None:
    made = Flavor.objects.create(name="f", vcpus=1, memory_mib=1, extra_specs=value)
    assert Flavor.objects.get(pk=made.pk).extra_specs == value
    assert Flavor.objects.values_list("extra_specs", flat=True).get(pk=made.pk) == value


def test_every_column_of_json_is_read_so() -> None:
    ours = ("controlplane.", "placement.", "scheduling.", "servers.")
    fields = [field for model in apps.get_models() if model.__module__.startswith(ours) for field in model._meta.fields]
    columns = [field for field in fields if isinstance(field, JSONField)]
    assert len(columns) > 50
    assert [str(field) for field in columns if not isinstance(field, JsonField)] == []


def test_text_inside_that_looks_like_json_stays_a_text() -> None:
    made = Flavor.objects.create(name="f", vcpus=1, memory_mib=1, extra_specs={"a": "{}", "b": "NaN"})
    assert Flavor.objects.get(pk=made.pk).extra_specs == {"a": "{}", "b": "NaN"}
    assert Flavor.objects.filter(extra_specs__b="NaN").exists()
