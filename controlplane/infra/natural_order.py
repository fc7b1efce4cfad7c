"""The order of names with numbers at their end, hv-1, hv-2, hv-10, as the database can sort and page by it."""

from typing import Any

from django.db.models import CharField, F, Func, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Concat, Left, Length, StrIndex


class _WithoutDigits(Func):
    """The text without the digits at its end; both databases know the function."""

    function = "RTRIM"
    template = "%(function)s(%(expressions)s, '0123456789')"
    output_field = CharField()


def natural_order(name: str | Combinable) -> tuple[Any, ...]:
    """What to order by: the first label of the name without its number, then by its length, then the whole name.

    That is the natural order of host names that differ in their last number. Other numbers in a name are compared as
    text, since no function of both databases takes a text apart; `kernel.natural` sorts those as well, in memory.
    """
    whole = F(name) if isinstance(name, str) else name
    label = Left(whole, StrIndex(Concat(whole, Value(".")), Value(".")) - 1)
    return _WithoutDigits(label), Length(label), whole
