"""How many rows hang on each row of another table, as an expression to sort by."""

from typing import Any

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce


def related_count(rows: "QuerySet[Any]", by: str) -> Coalesce:
    """The number of `rows` whose column `by` is the outer row's key; 0 where there are none. A correlated subquery, so
    it costs one look into an index for each row that is sorted.
    """
    counted = rows.order_by().filter(**{by: OuterRef("pk")}).values(by).annotate(found=Count("pk")).values("found")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)
