"""Answers that say by their type what their body holds.

A view that is declared to return `JsonAnswer[ProjectBody]` is proven by the type checker to answer with that, and the
door's document describes it by the same declaration.
"""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar, cast

import orjson
from django.http import HttpResponse

Body_co = TypeVar("Body_co", covariant=True)
Body = TypeVar("Body")
Fields = TypeVar("Fields", bound=Mapping[str, Any])
Others = TypeVar("Others")
Fields_co = TypeVar("Fields_co", bound=Mapping[str, Any], covariant=True)
Others_co = TypeVar("Others_co", covariant=True)


class JsonAnswer(HttpResponse, Generic[Body_co]):
    """An answer with a JSON body of a type: a TypedDict, or whatever else `json_schema` knows."""


class Empty(HttpResponse):
    """An answer without a body."""


class JsonText(bytes, Generic[Body_co]):
    """JSON of a type, written already: that it is of this type, no type checker sees."""


def json_text(data: Body) -> JsonText[Body]:
    """Of a type that a type checker has seen."""
    return cast("JsonText[Body]", orjson.dumps(data))


class WithOthers(dict[str, Any], Generic[Fields_co, Others_co]):
    """The fields of a TypedDict, and others of any name, which are all of one type."""


def with_others(others: Mapping[str, Others], fields: Fields) -> WithOthers[Fields, Others]:
    """The others first."""
    return WithOthers({**others, **fields})


class Chosen(dict[str, Any], Generic[Fields_co]):
    """Some of the fields of a TypedDict: those that the client asked for."""
