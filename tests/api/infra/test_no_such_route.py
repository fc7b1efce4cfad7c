"""Paths under /api/ that lead nowhere are refused in the API's shape, with and without a caller."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("method", ["get", "post", "put", "patch", "delete"])
@pytest.mark.parametrize("path", ["/api/", "/api/nonsense/", "/api/instances//", "/api/instances/no-uuid/nonsense/"])
def test_unknown_route_is_not_found_in_the_shape_of_the_api(path: str, method: str) -> None:
    answer = getattr(Client(enforce_csrf_checks=True), method)(path)
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/json")
    error = answer.json()["error"]
    assert (error["code"], error["request_id"]) == ("not_found", answer.headers["X-Openstack-Request-Id"])
    assert path in error["message"]


@pytest.mark.parametrize("path", ["/api", "/api/nonsense", "/api/instances/no-uuid/nonsense"])
def test_nor_is_it_found_without_its_closing_slash(path: str) -> None:
    answer = Client().post(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
