"""Paths find their routes."""

import pytest

from placement.openstack.access import Access
from placement.openstack.routes import ROUTES

TEMPLATES = [route.template for route in ROUTES.routes]


@pytest.mark.parametrize("template", TEMPLATES)
def test_path_of_a_template_finds_that_template_and_its_parameters(template: str) -> None:
    found = ROUTES.find(template.replace("{", "a-").replace("}", ""))
    assert found is not None
    route, values = found
    assert route.template == template
    assert set(values) == {part[1:-1] for part in template.split("/") if part.startswith("{")}


@pytest.mark.parametrize("path", ["/barnabas", "/resource_providers/", "/resource_providers/a/cows", "//", "/usages/a"])
def test_unknown_path_finds_nothing(path: str) -> None:
    assert ROUTES.find(path) is None


def test_every_path_but_the_root_and_total_usages_names_whose_it_is() -> None:
    open_ones = {r.template for r in ROUTES.routes for each in r.methods.values() if each.access is None}
    assert open_ones == {"/", "/usages"}


def test_writing_methods_never_need_less_than_writing() -> None:
    lax = [
        (route.template, method)
        for route in ROUTES.routes
        for method, endpoint in route.methods.items()
        if method != "GET" and endpoint.access not in (Access.WRITE, Access.RESHAPE)
    ]
    assert lax == []


def test_the_original_inventory_of_routes_is_complete() -> None:
    assert len(TEMPLATES) == 18
    assert sum(len(route.methods) for route in ROUTES.routes) == 36
