"""What lists ask the database: every order and every search is a statement that both databases understand."""

import pytest
from django.http import QueryDict

from controlplane.dashboard.catalog.flavor_listing import FLAVORS
from controlplane.dashboard.lists.declaration import ListDeclaration
from controlplane.dashboard.lists.query import ListQuery
from controlplane.dashboard.lists.window import ListWindow
from tests.worlds.cloud import flavor, people
from tests.worlds.lists import EVERY_LIST

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("declared", EVERY_LIST, ids=lambda one: one.name)
def test_every_order_and_search_is_understood(declared: ListDeclaration) -> None:
    four = people()
    for caller in (four.admin, four.member):
        keys = [one.key for one in declared.columns_of(caller) if one.sort]
        asked = [f"sort={sign}{key}" for key in keys for sign in ("", "-")]
        asked += [f"q={word}" for word in ("web", "10.0.", "deadbeef", "req-1", "100%25", "fe80:")]
        for text in asked:
            query = ListQuery(declared, caller, QueryDict(text))
            ListWindow(query).page()
            assert query.errors == {}


def test_names_with_numbers_stand_in_natural_order() -> None:
    caller = people().admin
    for name in ("m-10", "m-2", "m-1", "m-2.x"):
        flavor(name)

    page = ListWindow(ListQuery(FLAVORS, caller, QueryDict("sort=name&q=m-"))).page()

    assert [one.name for one in page.rows] == ["m-1", "m-2", "m-2.x", "m-10"]
