"""Version documents, microversions by both headers, faults outside of any resource, and the table in the documents."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from servers.openstack.compute.versions import MAX_VERSION, STEPS, VERSIONS
from tests.worlds import cloud as world
from tests.worlds.compute_door import GENERIC, LEGACY, ComputeClient, fault_of

pytestmark = pytest.mark.django_db

DOCUMENT = Path(__file__).parents[5] / "docs/openstack-clients.md"


@pytest.fixture
def who() -> world.People:
    return world.people()


def _get(path: str, **headers: str) -> Any:
    return Client().get(path, headers={"Host": "cloud.example.org", **headers})


def test_version_documents_need_no_token_and_link_to_where_they_were_asked() -> None:
    for path in ("/compute", "/compute/"):
        old, current = _get(path).json()["versions"]
        assert (old["id"], current["id"], current["status"]) == ("v2.0", "v2.1", "CURRENT")
        assert (current["min_version"], current["version"]) == ("2.1", MAX_VERSION)
    for path, found in (("v2", old), ("v2.1", current)):
        assert found["links"] == [{"rel": "self", "href": f"http://cloud.example.org/compute/{path}/"}]
        for spelling in (path, f"{path}/"):
            shown = _get(f"/compute/{spelling}").json()["version"]
            assert shown.pop("media-types")[0]["base"] == "application/json"
            assert shown == found


@pytest.mark.parametrize(
    ("headers", "served"),
    [
        ({}, "2.1"),
        ({GENERIC: "compute 2.79"}, "2.79"),
        ({LEGACY: "2.53"}, "2.53"),
        ({GENERIC: "compute 2.79", LEGACY: "2.53"}, "2.79"),
        ({GENERIC: "volume 3.60", LEGACY: "2.53"}, "2.53"),
        ({GENERIC: "volume 3.60, compute 2.9"}, "2.9"),
        ({GENERIC: "compute latest"}, MAX_VERSION),
        ({LEGACY: "latest"}, MAX_VERSION),
    ],
)
def test_version_is_asked_for_by_either_header_and_said_by_both(headers: dict[str, str], served: str) -> None:
    answer = _get("/compute/v2.1/", **headers)
    assert (answer[GENERIC], answer[LEGACY]) == (f"compute {served}", served)
    assert answer["Vary"] == f"{GENERIC}, {LEGACY}"
    assert answer["x-compute-request-id"] == answer["x-openstack-request-id"]


def test_a_version_that_is_not_served_is_406_and_one_that_is_none_400() -> None:
    for headers in ({GENERIC: "compute 2.999"}, {LEGACY: "2.999"}, {GENERIC: "compute 3.1"}):
        message = fault_of(_get("/compute/v2.1/", **headers), 406, "computeFault")
        asked = next(iter(headers.values())).removeprefix("compute ")
        assert message == (f"Version {asked} is not supported by the API. Minimum is 2.1 and maximum is {MAX_VERSION}.")
    fault_of(_get("/compute/v2.1/", **{LEGACY: "two"}), 400, "badRequest")


def test_faults_outside_of_any_resource(who: world.People) -> None:
    refused = ComputeClient().call("GET", "/servers")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, 401)
    assert refused["WWW-Authenticate"].startswith("Keystone uri=")
    member = ComputeClient(who.member)
    fault_of(member.call("GET", "/nothing"), 404, "itemNotFound")
    wrong = member.call("PATCH", "/servers")
    fault_of(wrong, 405, "badMethod")
    assert wrong["Allow"] == "GET, POST"
    bad = member.client.post(
        "/compute/v2.1/servers", "x", content_type="text/plain", headers={"X-Auth-Token": member.token}
    )
    fault_of(bad, 415, "badMediaType")


def test_the_projects_id_may_stand_in_the_path_if_it_is_the_tokens(who: world.People) -> None:
    member = ComputeClient(who.member)
    for project in (who.member.project_id.hex, str(who.member.project_id)):
        assert member.get(f"/{project}/servers") == {"servers": []}
    fault_of(member.call("GET", f"/{who.stranger.project_id.hex}/servers"), 400, "badRequest")
    old = member.client.get("/compute/v2/servers", headers={"X-Auth-Token": member.token})
    assert old.json() == {"servers": []}


def test_the_steps_are_one_for_each_version_and_stand_in_the_documents() -> None:
    assert [step.minor for step in STEPS] == list(range(VERSIONS.min_minor, VERSIONS.max_minor + 1))
    rows = [f"| 2.{step.minor} | {step.change} |" for step in STEPS]
    written = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| 2.")]
    assert written == rows, "docs/openstack-clients.md has the table of STEPS in servers/openstack/compute/versions.py"
