"""The order of a page is that of an index where rows always have a value."""

from servers.models import Instance, Port, Volume
from servers.openstack.paging import SortKey


def test_only_columns_without_a_value_in_some_rows_say_where_such_rows_stand() -> None:
    cases = [
        (Instance, "created_at", False),
        (Instance, "pk", False),
        (Instance, "launched_at", True),
        (Port, "network__name", True),
        (Volume, "metadata__a", True),
    ]
    for model, column, has_nulls in cases:
        order = SortKey(column, is_descending=True).order(model)
        assert bool(order.nulls_last) is has_nulls, (model, column)
        begins = SortKey(column).not_before(model, "x")
        assert bool(begins) is not has_nulls, (model, column)
