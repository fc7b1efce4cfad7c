"""The OpenAPI documents of the OpenStack doors: valid, whole, and served to everybody."""

import json
from io import StringIO
from typing import Any, Literal, NotRequired, TypedDict

import pytest
from django.core.management import call_command
from django.test import RequestFactory
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from controlplane.launcher.openstack_doors import DOORS
from controlplane.openstack.answers import Chosen, JsonText, WithOthers
from controlplane.openstack.openapi.document import openapi_document
from controlplane.openstack.openapi.types import TypeSchemas, body_types, sends_bytes, undescribed
from controlplane.openstack.openapi.views import view_facts


def _served(door: str, query: str = "") -> Any:
    return DOORS[door].serve(RequestFactory().get(f"/{door}/openapi.json{query}"))  # type: ignore[arg-type]


def test_each_document_is_valid_and_has_each_route_and_method_of_its_door() -> None:
    for name, door in DOORS.items():
        served = _served(name).content
        assert b'"oneOf":[]' not in served.replace(b" ", b""), f"{name} has a choice among nothing."
        document = json.loads(served)
        validate(document, cls=OpenAPIV31SpecValidator)
        had = {(path, method.upper()) for path, found in document["paths"].items() for method in found}
        for route in door.routes.routes:
            for method, endpoint in route.methods.items():
                assert (route.template, method) in had, f"{name} has no {method} {route.template}"
                operation = document["paths"][route.template][method.lower()]
                assert bool(operation.get("requestBody")) or not endpoint.takes, (
                    f"{name} does not say what {method} {route.template} takes: its view names no schema."
                )
                is_open = route.template in door.open_paths or (method, route.template) in door.open_calls
                assert (operation.get("security") == []) == is_open, (name, method, route.template)


def test_a_document_of_one_microversion_has_what_that_version_has() -> None:
    def keys(document: dict[str, Any]) -> set[str]:
        server = document["paths"]["/v2.1/servers"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        return set(server["properties"]["server"]["properties"])

    old, new = (json.loads(_served("compute", f"?microversion={one}").content) for one in ("2.1", "latest"))
    assert "personality" in keys(old) and "tags" not in keys(old)
    assert "tags" in keys(new) and "personality" not in keys(new)
    assert "/v2.1/os-hosts" in old["paths"] and "/v2.1/os-hosts" not in new["paths"]
    assert (old["info"]["version"], new["info"]["version"]) == ("2.1", "2.100")
    every = json.loads(_served("compute").content)
    hosts = every["paths"]["/v2.1/os-hosts"]["get"]
    assert (hosts["deprecated"], hosts["x-openstack-until"]) == (True, "2.42")
    assert _served("compute", "?microversion=2.1000").status_code == 406
    assert _served("compute", "?microversion=x").status_code == 400
    assert _served("image", "?microversion=2.1").status_code == 400
    post = DOORS["compute"].serve(RequestFactory().post("/compute/openapi.json"))  # type: ignore[arg-type]
    assert (post.status_code, post["Allow"]) == (405, "GET")


def test_query_parameters_come_from_the_tables_that_judge_them() -> None:
    def names(door: str, path: str, method: str = "get") -> dict[str, bool]:
        operation = openapi_document(DOORS[door])["paths"][path][method]
        return {one["name"]: one["required"] for one in operation["parameters"] if "name" in one}

    assert {"nocatalog"} <= names("identity", "/v3/auth/tokens").keys()
    assert names("identity", "/v3/auth/tokens", "delete") == {"X-Subject-Token": False}
    assert {"X-Image-Meta-Store", "X-OpenStack-Image-Size"} == names(
        "image", "/v2/images/{image_id}/file", "put"
    ).keys()
    assert {"name", "enabled", "domain_id"} <= names("identity", "/v3/users").keys()
    assert {"changes-since", "tags", "limit", "marker"} <= names("compute", "/v2.1/servers/detail").keys()
    assert {"changes-before", "limit"} <= names("compute", "/v2.1/servers/{server_id}/os-instance-actions").keys()
    assert {"limit", "in_tree", "group_policy", "resources"} <= names("placement", "/allocation_candidates").keys()
    assert names("placement", "/usages")["project_id"] is True
    assert {"visibility", "size_min", "sort"} <= names("image", "/v2/images").keys()
    assert {"fields", "fixed_ips", "page_reverse"} <= names("network", "/v2.0/ports").keys()
    assert {"all_tenants", "with_count", "sort"} <= names("volume", "/v3/volumes/detail").keys()
    assert {"detail", "volume_type"} <= names("volume", "/v3/scheduler-stats/get_pools").keys()


def test_statuses_are_those_that_the_view_gives() -> None:
    views = {
        (endpoint.view.__module__.rpartition(".")[2], endpoint.view.__name__): endpoint.view
        for door in DOORS.values()
        for route in door.routes.routes
        for endpoint in route.methods.values()
    }
    cases: dict[tuple[str, str], tuple[set[int], bool]] = {
        ("servers", "server_create"): ({202}, False),
        ("server_metadata", "tag_put"): ({201, 204}, False),
        ("networks", "network_add"): ({201}, False),
        ("users", "users_list"): ({200}, False),
        ("image_file", "file_download"): ({204}, True),
    }
    for name, (statuses, has_others) in cases.items():
        facts = view_facts(views[name])
        assert (facts.statuses, facts.has_others) == (statuses, has_others), name


DESCRIBED = ("identity", "placement", "image", "network", "volume")
"""Doors whose documents say what answers hold. A door that is here stays here."""


def test_each_answer_with_a_body_is_described_where_a_door_describes_its_answers() -> None:
    for name in DESCRIBED:
        document = openapi_document(DOORS[name])
        for route in DOORS[name].routes.routes:
            for method, endpoint in route.methods.items():
                where = f"{name} {method} {route.template}"
                assert not undescribed(endpoint.view), f"{where}: its view does not say what its answers hold."
                responses = document["paths"][route.template][method.lower()]["responses"]
                has_schema = any("content" in one for status, one in responses.items() if status < "4")
                has_body = (
                    view_facts(endpoint.view).with_body or body_types(endpoint.view) or sends_bytes(endpoint.view)
                )
                assert has_schema == bool(has_body), where


def test_a_schema_is_made_of_a_type() -> None:
    schemas = TypeSchemas()
    part = {"type": "object", "properties": {"a": {"type": ["integer", "null"]}}, "required": ["a"]}
    cases: dict[Any, Any] = {
        str | None: {"type": ["string", "null"]},
        Literal["a", "b"]: {"enum": ["a", "b"]},
        JsonText[list[_Part]]: {"type": "array", "items": {"$ref": "#/components/schemas/_Part"}},
        dict[str, bool | _Part]: {
            "type": "object",
            "additionalProperties": {"anyOf": [{"type": "boolean"}, {"$ref": "#/components/schemas/_Part"}]},
        },
        WithOthers[_Whole, str]: {"$ref": "#/components/schemas/_Whole"},
        Chosen[_Whole]: {"$ref": "#/components/schemas/Some_Whole"},
    }
    for kind, schema in cases.items():
        assert schemas.of(kind) == schema, kind
    both = {
        "type": "object",
        "description": "A part and more.",
        "properties": {"a": {"type": ["integer", "null"]}, "b": {"type": "number"}},
    }
    assert schemas.named == {
        "_Part": {**part, "additionalProperties": False},
        "_Whole": {**both, "required": ["a"], "additionalProperties": {"type": "string"}},
        "Some_Whole": {**both, "additionalProperties": False},
    }
    for wrong in (set[str], _Whole):  # no JSON; the name of another type
        with pytest.raises(TypeError):
            schemas.of(wrong)


class _Part(TypedDict):
    a: int | None


class _Whole(_Part):
    """A part and more."""

    b: NotRequired[float]


def test_the_command_prints_what_the_door_serves() -> None:
    said = StringIO()
    call_command("openapi", "volume", "--microversion", "3.55", stdout=said)
    assert json.loads(said.getvalue()) == json.loads(_served("volume", "?microversion=3.55").content)
