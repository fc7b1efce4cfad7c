"""Reading JSON bodies that anybody may send."""

from collections.abc import Iterator, Mapping
from typing import IO, Any

from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import JSONParser

MAX_DEPTH = 500
"""Levels of lists and objects in each other: far more than any body needs, far fewer than Python can follow."""


class BodyParser(JSONParser):
    """JSON, but neither nested without end nor with NUL or halves of characters, which no database stores."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """The value. Raises ParseError, which is a 400."""
        try:
            found = super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise ParseError("The body is nested too deeply.") from None
        _check(found)
        _refuse_nul(found)
        return found


def _refuse_nul(found: Any) -> None:
    """Refuse NUL wherever it is, naming the field that has it: PostgreSQL stores no NUL in any text."""
    fields = list(found.items()) if isinstance(found, dict) else [("body", found)]
    for field, value in fields:
        todo = [field, value]
        while todo:
            part = todo.pop()
            if isinstance(part, str) and "\x00" in part:
                name = field.replace("\x00", "")[:80] or "body"
                raise ValidationError({name: ["Has a NUL character, which no text may have."]})
            todo += _parts(part)


def _check(found: Any) -> None:
    """Level by level, so that no depth is too deep to be checked."""
    level = [found]
    for _ in range(MAX_DEPTH):
        level = [part for value in level for part in _parts(value)]
        if not level:
            return
    raise ParseError(f"The body is nested more than {MAX_DEPTH} levels deep.")


def _parts(value: Any) -> Iterator[Any]:
    """What is in a list or object; text ends here, if it is whole."""
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= one <= "\udfff" for one in value):
            raise ParseError("The body has half of a character (a lone surrogate).")
    elif isinstance(value, dict):
        yield from value
        yield from value.values()
    elif isinstance(value, list):
        yield from value
