"""/api/drift/ and /api/heals/: who may, what they show, filters, putting right, their place in the schema."""

import uuid

import pytest
from rest_framework.test import APIClient

from controlplane.infra.db import db_now
from controlplane.work.heals import heal_record
from servers.models import OrphanGuest
from servers.repair.services.drift import LOOKS, drift_check_run
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
PERSONS = ("admin", "member", "reader", "stranger", "nobody")


@pytest.fixture
def who() -> world.People:
    return world.cloud("h1")


@pytest.fixture
def admin(who: world.People) -> APIClient:
    return world.client_of(who.admin)


def client_for(person: str, who: world.People) -> APIClient:
    return APIClient() if person == "nobody" else world.client_of(getattr(who, person))


def look() -> None:
    """As the reconciler does it."""
    for name in LOOKS:
        drift_check_run(name)


def orphan_guest(host: str = "h1", **more: str) -> str:
    """A guest that no instance explains; the key of its drift."""
    now = db_now()
    row = OrphanGuest.objects.create(
        host=host, guest_uuid=uuid.uuid4(), power_state="running", first_seen_at=now, last_seen_at=now, **more
    )
    look()
    return f"orphan_guest:{row.host}:{row.guest_uuid}"


def test_drift_and_heals_are_for_admins(who: world.People) -> None:
    key = orphan_guest()
    heal_record(kind="overdue_task", subject=None, found="x", done="y", evidence={})
    answers = {}
    for person in reversed(PERSONS):  # the admin last: its heal changes something
        client = client_for(person, who)
        answers[person] = (
            client.get("/api/drift/").status_code,
            client.get("/api/heals/").status_code,
            client.post("/api/drift/heal/", {"key": key}, format="json").status_code,
        )
    refused = dict.fromkeys(PERSONS[1:4], (403, 403, 403))
    assert answers == {"admin": (200, 200, 200), **refused, "nobody": (401, 401, 401)}


def test_drift_tells_what_was_compared_and_what_would_be_done(admin: APIClient) -> None:
    key = orphan_guest()
    found = admin.get("/api/drift/").json()
    assert found["count"] == 1
    row = found["results"][0]
    assert (row["key"], row["kind"], row["can_heal"], row["host"]) == (key, "orphan_guest", True, "h1")
    assert row["heals_at"] > row["since"]
    assert row["evidence"]["power_state"] == "running"


@pytest.mark.parametrize(
    ("query", "count"), [("kind=orphan_guest", 1), ("kind=generation", 0), ("host=h2", 0), ("host=h1", 1)]
)
def test_drift_is_filtered(query: str, count: int, admin: APIClient) -> None:
    orphan_guest()
    assert admin.get(f"/api/drift/?{query}").json()["count"] == count


@pytest.mark.parametrize("query", ["kind=odd", "instance=odd"])
def test_filter_that_makes_no_sense_is_refused_by_name(query: str, admin: APIClient) -> None:
    answer = admin.get(f"/api/drift/?{query}")
    assert answer.status_code == 400
    assert query.partition("=")[0] in answer.text


def test_heal_is_done_once_and_refused_with_the_reason(admin: APIClient) -> None:
    key = orphan_guest()
    done = admin.post("/api/drift/heal/", {"key": key}, format="json").json()
    assert (done["is_done"], done["drift"]["key"]) == (True, key)
    again = admin.post("/api/drift/heal/", {"key": key}, format="json")
    assert (again.status_code, "root asked for it already" in again.text) == (409, True)


@pytest.mark.parametrize(
    ("body", "status"), [({}, 400), ({"key": "x", "y": 1}, 400), ({"key": "x:y"}, 404), ({"key": "a" * 500}, 400)]
)
def test_heal_of_nothing_is_refused(body: dict[str, object], status: int, admin: APIClient) -> None:
    assert admin.post("/api/drift/heal/", body, format="json").status_code == status


def test_heals_are_filtered_by_kind_and_subject_and_have_their_evidence(admin: APIClient) -> None:
    subject = uuid.uuid4()
    heal_record(kind="overdue_task", subject=subject, found="x", done="y", evidence={"stood_s": 1})
    heal_record(kind="orphan_claims", subject=None, found="x", done="y", evidence={})
    rows = admin.get(f"/api/heals/?kind=overdue_task&subject={subject}").json()["results"]
    assert [(row["subject"], row["evidence"]) for row in rows] == [(str(subject), {"stood_s": 1})]
    assert admin.get(f"/api/heals/{rows[0]['id']}/").json()["kind"] == "overdue_task"
    assert admin.get("/api/heals/?subject=odd").status_code == 400


def test_check_is_asked_for_and_tells_when_it_was_done(admin: APIClient) -> None:
    assert admin.get("/api/drift/checks/").json() == []
    asked = [admin.post("/api/drift/check/") for _ in range(2)]
    assert [(one.status_code, one.json()) for one in asked] == [(202, {"is_new": True}), (202, {"is_new": False})]
    world.pump()
    found = admin.get("/api/drift/checks/").json()
    assert [(one["name"], one["counts"], one["is_cut"]) for one in found] == [
        ("allocations", {}, False),
        ("guests", {}, False),
    ]


@pytest.mark.parametrize("person", PERSONS[1:])
def test_check_is_asked_for_by_admins_alone(person: str, who: world.People) -> None:
    client = client_for(person, who)
    answers = {client.post("/api/drift/check/").status_code, client.get("/api/drift/checks/").status_code}
    assert answers <= {401, 403}


def test_schema_has_them(admin: APIClient) -> None:
    paths = admin.get("/api/schema/?format=json").json()["paths"]
    assert {"/api/drift/", "/api/drift/heal/", "/api/heals/", "/api/heals/{id}/"} <= set(paths)
