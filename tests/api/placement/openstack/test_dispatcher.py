"""The door itself: identity, versions, forms, shapes of errors, who may."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django import Settings

from controlplane.identity.domain import Caller
from placement.openstack.routes import ROUTES
from tests.worlds.cloud import people

Ask = Callable[..., Any]
SOMEBODY = "8f6a1f0e-54f5-4a8b-9a3c-0d5a2f6f6a11"
DOORS = [
    (method, route.template.replace("{uuid}", SOMEBODY).replace("{", "").replace("}", ""))
    for route in ROUTES.routes
    for method in route.methods
    if route.template != "/"
]


def error_of(response: Any) -> dict[str, Any]:
    (error,) = response.json()["errors"]
    return dict(error)


@pytest.mark.parametrize("path", ["", "/"])
def test_root_tells_the_versions_without_a_token(ask: Ask, path: str) -> None:
    response = ask("GET", path)
    assert response.status_code == 200
    (version,) = response.json()["versions"]
    assert (version["min_version"], version["max_version"], version["status"]) == ("1.0", "1.39", "CURRENT")


@pytest.mark.parametrize(("method", "path"), DOORS)
def test_no_token_is_401_in_the_shape_of_the_api(ask: Ask, method: str, path: str) -> None:
    response = ask(method, path)
    assert response.status_code == 401
    assert error_of(response)["title"] == "Unauthorized"


@pytest.mark.parametrize(("method", "path"), DOORS)
def test_token_that_is_none_is_401_where_the_test_identity_is_off(ask: Ask, method: str, path: str) -> None:
    assert ask(method, path, x_auth_token="admin").status_code == 401


@pytest.mark.parametrize(("method", "path"), DOORS)
@pytest.mark.parametrize("who", ["member", "reader", "stranger"])
def test_nobody_but_an_admin_gets_in(
    ask: Ask, token_of: Callable[[Caller], str], who: str, method: str, path: str
) -> None:
    token = token_of(getattr(people(), who))
    response = ask(method, path, x_auth_token=token, body={}, accept="application/json")
    assert response.status_code == 403


def test_admin_with_a_real_token_gets_in(ask: Ask, token_of: Callable[[Caller], str]) -> None:
    response = ask("GET", "/resource_providers", x_auth_token=token_of(people().admin))
    assert response.status_code == 200
    assert response.json() == {"resource_providers": []}


def test_reader_sees_the_usages_of_the_own_project(ask: Ask, token_of: Callable[[Caller], str]) -> None:
    reader = people().reader
    token = token_of(reader)
    assert ask("GET", f"/usages?project_id={reader.project_id}", x_auth_token=token).status_code == 200
    assert ask("GET", f"/usages?project_id={uuid4()}", x_auth_token=token).status_code == 403


def test_version_asked_for_is_echoed(admin: Ask) -> None:
    response = admin("GET", "/resource_providers", version="1.14")
    assert response["OpenStack-API-Version"] == "placement 1.14"
    assert "openstack-api-version" in response["Vary"]
    assert "Cache-Control" not in response


def test_cache_headers_come_with_1_15(admin: Ask) -> None:
    response = admin("GET", "/resource_providers", version="1.15")
    assert response["Cache-Control"] == "no-cache"
    assert response["Last-Modified"].endswith("GMT")


def test_version_beyond_is_406_with_the_range(admin: Ask) -> None:
    response = admin("GET", "/resource_providers", version="1.40")
    assert response.status_code == 406
    assert error_of(response)["max_version"] == "1.39"


def test_unreadable_version_is_400(admin: Ask) -> None:
    assert admin("GET", "/resource_providers", version="pony").status_code == 400


def test_unknown_path_is_404_with_a_request_id(admin: Ask) -> None:
    response = admin("GET", "/barnabas")
    assert response.status_code == 404
    assert error_of(response)["request_id"] == response["X-OpenStack-Request-Id"]
    assert error_of(response)["code"] == "placement.undefined_code"


def test_error_code_comes_with_1_23(admin: Ask) -> None:
    assert "code" not in error_of(admin("GET", "/barnabas", version="1.22"))


def test_method_that_is_none_is_405_with_allow(admin: Ask) -> None:
    response = admin("PATCH", "/resource_providers")
    assert response.status_code == 405
    assert response["Allow"] == "GET, POST"


def test_path_that_came_later_is_not_found_before(admin: Ask) -> None:
    assert admin("GET", "/allocation_candidates?resources=VCPU:1", version="1.9").status_code == 404


def test_answer_that_is_not_json_cannot_be_had(admin: Ask) -> None:
    assert admin("GET", "/resource_providers", accept="text/plain").status_code == 406
    assert admin("GET", "/resource_providers", accept="text/plain,*/*;q=0.1").status_code == 200


def test_body_of_another_type_is_415(admin: Ask) -> None:
    response = Client().post("/placement/resource_providers", "<a/>", "text/xml", headers={"X-Auth-Token": "admin"})
    assert response.status_code == 415


def test_body_without_a_type_is_400(admin: Ask) -> None:
    response = Client().generic(
        "POST", "/placement/resource_providers", "{}", content_type="", headers={"X-Auth-Token": "admin"}
    )
    assert response.status_code == 400


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 5000, b'{"name": NaN}', b'"text"', b"null"])
def test_body_that_is_no_object_is_400(admin: Ask, body: bytes) -> None:
    response = admin("POST", "/resource_providers", body=body)
    assert response.status_code == 400
    assert error_of(response)["title"] == "Bad Request"


def test_body_beyond_the_limit_is_413(admin: Ask, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10
    assert admin("POST", "/resource_providers", body={"name": "x" * 100}).status_code == 413


@pytest.mark.parametrize(
    ("mode", "headers", "status"),
    [
        ("legacy", {"x_auth_token": "admin"}, 200),
        ("legacy", {"x_auth_token": "someone"}, 403),
        ("legacy", {"x_auth_token": "someone", "x_roles": "member,admin"}, 200),
        ("secure", {"x_auth_token": "someone", "x_roles": "service"}, 200),
        ("secure", {"x_auth_token": "someone", "x_roles": "reader"}, 403),
        ("secure", {"x_auth_token": "admin", "openstack_system_scope": "all"}, 403),
        ("open", {"x_auth_token": "someone"}, 200),
    ],
)
def test_test_identity_follows_its_mode(
    ask: Ask, identity: Callable[[str], None], mode: str, headers: dict[str, str], status: int
) -> None:
    identity(mode)
    assert ask("GET", "/resource_providers", **headers).status_code == status


def test_reshaper_is_for_services_in_the_secure_mode(ask: Ask, identity: Callable[[str], None]) -> None:
    identity("secure")
    body = {"inventories": {}, "allocations": {}}
    assert ask("POST", "/reshaper", body=body, x_auth_token="admin").status_code == 403
    assert ask("POST", "/reshaper", body=body, x_auth_token="nova", x_roles="service").status_code != 403


def test_preflight_is_answered_for_configured_origins_alone(admin: Ask, settings: Settings) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "PLACEMENT_CORS_ORIGINS": ("http://ui.example.com",)}
    wanted = {"access_control_request_method": "GET", "x_auth_token": ""}
    allowed = admin("OPTIONS", "/", origin="http://ui.example.com", **wanted)
    assert allowed["Access-Control-Allow-Origin"] == "http://ui.example.com"
    assert "Access-Control-Allow-Origin" not in admin("OPTIONS", "/", origin="http://other.example.com", **wanted)


def test_without_origins_options_is_no_method(admin: Ask) -> None:
    assert admin("OPTIONS", "/", origin="http://ui.example.com").status_code == 405


def test_api_sets_no_cookie_and_needs_no_csrf_token(admin: Ask) -> None:
    client = Client(enforce_csrf_checks=True)
    body = {"name": "host-1"}
    headers = {"X-Auth-Token": "admin"}
    response = client.post("/placement/resource_providers", body, "application/json", headers=headers)
    assert response.status_code == 201
    assert not response.cookies


def test_production_refuses_the_test_identity() -> None:
    env = {
        "SECRET_KEY": "k" * 60,
        "DATABASE_URL": "postgres://kilonova@localhost/kilonova",
        "PLACEMENT_TEST_IDENTITY": "legacy",
        "PATH": "/usr/bin",
    }
    code = "import controlplane.settings.prod"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "PLACEMENT_TEST_IDENTITY" in done.stderr
