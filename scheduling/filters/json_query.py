"""JsonFilter: the user's own expression over attributes of the host."""

import json
import operator
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.columns import Interned
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter
from scheduling.filters.host_attributes import attribute_column

HINT = "query"
SHOWN = 200
"""Characters of the query that a refusal repeats."""

Attributes = Mapping[str, Any]

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
_LOGIC: dict[str, Callable[[list[Any]], Any]] = {
    "not": lambda arguments: [not each for each in arguments],
    "or": any,
    "and": all,
}


class JsonFilter(Filter):
    """Hint `query`, a JSON list of an operator and its arguments, which may be such lists again.

    `=`, `<`, `>`, `<=`, `>=` compare the first argument with every other; `in` wants it among the others; `not` negates
    each; `or`, `and`. `$name.key` is an attribute of the host, or a key of a dictionary there; what is unknown is
    dropped, and a comparison with fewer than two arguments left is false. A list as the result counts if any of it
    does. Nova fails a request whose query it cannot read or compare; here it fits no host, and the refusal says why.
    """

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts of which the query is not true."""
        text = spec.get_scheduler_hint(HINT)
        if not text:
            return []
        try:
            query = json.loads(text)
            column = _attributes(hosts, sorted(set(_names(query))))
        except (ValueError, RecursionError) as error:
            nobody = np.ones(len(hosts), dtype=np.bool_)
            return hosts.refuse(nobody, RefusalReason.QUERY_NOT_MET, wanted=text[:SHOWN], detail=_words(error))
        return hosts.refuse_by(column, partial(_judge, query, text))


def _judge(query: Any, text: str, attributes: Attributes) -> Refusal | None:
    detail = ""
    try:
        result = evaluate(query, attributes)
        if any(result) if isinstance(result, list) else result:
            return None
    except (TypeError, ValueError, RecursionError) as error:
        detail = _words(error)
    return Refusal(RefusalReason.QUERY_NOT_MET, wanted=text[:SHOWN], detail=detail)


def evaluate(query: Any, attributes: Attributes) -> Any:
    """The value of an expression. Raises ValueError for another form, TypeError for text compared with a number."""
    if not query:
        return True
    if not isinstance(query, list) or not isinstance(query[0], str):
        raise ValueError("a list that begins with an operator is expected")
    values = (_value(each, attributes) for each in query[1:])
    return _apply(query[0], [each for each in values if each is not None])


def _apply(name: str, arguments: list[Any]) -> Any:
    if name in _LOGIC:
        return _LOGIC[name](arguments)
    if name != "in" and name not in _COMPARE:
        raise ValueError(f"there is no operator {name:.40}")
    if len(arguments) < 2:
        return False
    first, others = arguments[0], arguments[1:]
    return first in others if name == "in" else all(_COMPARE[name](first, each) for each in others)


def _value(argument: Any, attributes: Attributes) -> Any:
    if isinstance(argument, list):
        return evaluate(argument, attributes)
    if not isinstance(argument, str):
        return argument
    return _value_at(argument, attributes) if argument.startswith("$") else argument or None


def _value_at(variable: str, attributes: Attributes) -> Any:
    name, *path = variable[1:].split(".")
    found = attributes.get(name)
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _names(query: Any) -> Iterator[str]:
    """Names of the attributes that the query speaks of."""
    if isinstance(query, list):
        for each in query:
            yield from _names(each)
    elif isinstance(query, str) and query.startswith("$"):
        yield query[1:].partition(".")[0]


def _attributes(hosts: Hosts, names: list[str]) -> Interned[Attributes]:
    """Each distinct combination of these attributes once."""
    found = {name: attribute_column(hosts, name) for name in names}
    columns = {name: column for name, column in found.items() if column is not None}
    codes = np.zeros(len(hosts.table), dtype=np.int64)
    if not columns:
        return Interned(({},), codes)
    stacked = np.stack([hosts.of(column.codes) for column in columns.values()])
    distinct, inverse = np.unique(stacked, axis=1, return_inverse=True)
    codes[hosts.rows] = inverse.reshape(-1)
    values = tuple(
        {name: column.values[code] for (name, column), code in zip(columns.items(), combination, strict=True)}
        for combination in distinct.T.tolist()
    )
    return Interned(values, codes)


def _words(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
