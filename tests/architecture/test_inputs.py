"""Every body that /api/ accepts has a closed set of fields: a misspelt one is refused, nested ones too."""

from collections.abc import Iterator
from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.plumbing import ComponentRegistry
from rest_framework import serializers

from controlplane.infra.api.strict import ClosedFields

WRITING = {"POST", "PUT", "PATCH"}
UNKNOWN = "no_such_field"


def _inputs() -> Iterator[tuple[str, type[Any]]]:
    """(method and path, serializer) of every route that takes a body."""
    generator = SchemaGenerator()
    generator._initialise_endpoints()
    for path, path_regex, method, view in generator._get_paths_and_endpoints():
        if method not in WRITING:
            continue
        schema = view.schema
        schema.get_operation(path, path_regex, "/api", method, ComponentRegistry())
        asked = schema.get_request_serializer()
        kind = asked if isinstance(asked, type) else type(asked)
        if issubclass(kind, serializers.BaseSerializer):
            yield f"{method} {path}", kind


def _with_nested(kind: type[Any]) -> Iterator[type[Any]]:
    yield kind
    for field in kind().fields.values():
        inner = getattr(field, "child", field)
        if isinstance(inner, serializers.Serializer) and not field.read_only:
            yield from _with_nested(type(inner))


INPUTS = sorted(_inputs(), key=lambda entry: entry[0])


def test_walk_finds_the_bodies() -> None:
    assert len(INPUTS) > 20
    assert "POST /api/projects/" in {route for route, _ in INPUTS}


@pytest.mark.parametrize(("route", "kind"), INPUTS, ids=[route for route, _ in INPUTS])
def test_unknown_field_is_refused(route: str, kind: type[Any]) -> None:
    for each in _with_nested(kind):
        assert issubclass(each, ClosedFields), each
        body = each(data={UNKNOWN: 1}, partial=True)
        assert not body.is_valid()
        assert UNKNOWN in body.errors


def _numbers_for_text(field: Any) -> Any:
    """A value with a number where the field takes text alone; None for a field that takes other things."""
    if isinstance(field, (serializers.CharField, serializers.UUIDField)):
        return 5
    if isinstance(field, serializers.ChoiceField) and all(isinstance(one, str) for one in field.choices):
        return 5
    inner = _numbers_for_text(getattr(field, "child", None)) if hasattr(field, "child") else None
    if inner is None or isinstance(field, serializers.ListSerializer):
        return None
    return {"a": inner} if isinstance(field, serializers.DictField) else [inner]


def _refused(body: Any, data: dict[str, Any]) -> dict[str, Any]:
    try:
        body.to_internal_value(data)
    except serializers.ValidationError as error:
        return dict(error.detail) if isinstance(error.detail, dict) else {}
    return {}


def test_number_is_no_text_in_any_body() -> None:
    kinds = {each for _, kind in INPUTS for each in _with_nested(kind)}
    tried, taken = 0, set()
    for kind in kinds:
        for name, field in kind().fields.items():
            if field.read_only or (value := _numbers_for_text(field)) is None:
                continue
            tried += 1
            said = _refused(kind(), {name: value}).get(name)
            if "Must be text, not int." not in str(said):
                taken.add((kind.__name__, name, str(said)))
    assert not taken
    assert tried > 150
