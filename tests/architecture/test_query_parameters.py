"""Every route of /api/ reads a closed set of query parameters, which is that of the document, with every verb, and no
body where the document has none.
"""

from collections.abc import Iterator
from typing import Any

import django_filters
import pytest
from django.urls import get_resolver

from controlplane.infra.list_filters import ListFilterSet, MomentFilter, WholeNumberFilter, YesNoFilter
from tests.fixtures.api_routes import ApiCall, api_calls
from tests.worlds import cloud as world

CALLS = api_calls()
UNKNOWN = "no_such_parameter"
STRICT = (
    (django_filters.BooleanFilter, YesNoFilter),
    (django_filters.NumberFilter, WholeNumberFilter),
    (django_filters.IsoDateTimeFilter, MomentFilter),
    (django_filters.DateTimeFilter, MomentFilter),
)
HOUSES = ("controlplane", "placement", "scheduling", "servers")


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def _filtersets() -> list[type[Any]]:
    """All of ours, those of pages and of the API."""
    assert get_resolver().url_patterns  # imports every view
    found = {each for each in _below(django_filters.FilterSet) if each.__module__.startswith(HOUSES)}
    return sorted(found - {ListFilterSet}, key=lambda each: (each.__module__, each.__name__))


def _refused(client: Any, call: ApiCall, query: str = "", body: str = "") -> dict[str, Any]:
    """The reasons by parameter or field of a call that is refused with 400; else none."""
    answer = client.generic(call.method, f"{call.path}?{query}", body, content_type="application/json")
    reasons: dict[str, Any] = answer.json()["error"]["reasons"] if answer.status_code == 400 else {}
    return reasons


def test_walk_finds_routes_and_filtersets() -> None:
    assert len(CALLS) > 250
    assert len(_filtersets()) > 40
    assert {"GET /api/instances/", "POST /api/tokens/"} <= {str(one) for one in CALLS}


@pytest.mark.django_db
def test_unknown_parameter_is_refused_and_what_the_document_names_is_read() -> None:
    client = world.client_of(world.people().admin)
    refused = {
        str(call): _refused(client, call, "&".join(f"{name}=" for name in (*call.parameters, UNKNOWN)))
        for call in CALLS
    }
    assert {call: reasons for call, reasons in refused.items() if reasons.keys() != {UNKNOWN}} == {}


@pytest.mark.django_db
def test_body_is_refused_where_none_is_read() -> None:
    client = world.client_of(world.people().admin)
    without = [call for call in CALLS if call.method in {"POST", "PUT", "PATCH", "DELETE"} and not call.has_body]
    assert len(without) > 60
    refused = {str(call): _refused(client, call, body='{"no_such_field": 1}') for call in without}
    assert {call: reasons for call, reasons in refused.items() if reasons.keys() != {"no_such_field"}} == {}
    answer = client.generic(without[0].method, without[0].path, "[1]", content_type="application/json")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "body")


@pytest.mark.parametrize("filterset", _filtersets(), ids=lambda each: each.__name__)
def test_no_filter_passes_over_what_it_cannot_read(filterset: type[Any]) -> None:
    assert issubclass(filterset, ListFilterSet)
    for name, one in filterset.base_filters.items():
        loose = [kind.__name__ for kind, strict in STRICT if isinstance(one, kind) and not isinstance(one, strict)]
        assert loose == [], name


@pytest.mark.parametrize("filterset", _filtersets(), ids=lambda each: each.__name__)
def test_no_filter_has_the_name_of_a_page_or_an_order(filterset: type[Any]) -> None:
    assert not {"page", "page_size", "cursor", "ordering", "format"} & filterset.base_filters.keys()
