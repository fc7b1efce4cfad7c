"""/api/ovn/ and OVN in the Django admin: for operators alone."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from controlplane.identity.models import User
from controlplane.infra.db import db_now
from servers.models import OvnChange, OvnCheck
from servers.networks.domain.names import OvnSubject
from tests.worlds import cloud

pytestmark = pytest.mark.django_db(transaction=True)
PORT, GROUP = uuid.uuid4(), uuid.uuid4()


@pytest.fixture
def who(settings: Any) -> cloud.People:
    settings.KILONOVA = {**settings.KILONOVA, "OVN_NORTHBOUND": "tcp:192.0.2.1:6641"}
    who, now = cloud.cloud("h1"), db_now()
    later = now + timedelta(minutes=5)
    OvnCheck.objects.create(name="northbound", is_connected=True, checked_at=now, rows=7, differed=1, differences=["x"])
    OvnChange.objects.create(subject="port", subject_id=PORT, noted_at=now)
    OvnChange.objects.create(subject="group", subject_id=GROUP, noted_at=now, problem="no", retry_at=later)
    return who


def test_operators_see_how_far_it_is_and_what_waits(who: cloud.People) -> None:
    client = cloud.client_of(who.admin)
    found = client.get("/api/ovn/").json()
    assert (found["northbound"], found["is_connected"], found["rows"]) == ("tcp:192.0.2.1:6641", True, 7)
    assert (found["waiting"], found["refused"], found["differences"]) == (2, 1, ["x"])
    waiting = client.get("/api/ovn/changes/").json()
    assert [one["subject_id"] for one in waiting["results"]] == [str(PORT), str(GROUP)]
    refused = client.get("/api/ovn/changes/?is_refused=true").json()["results"]
    assert [(one["subject_id"], one["problem"]) for one in refused] == [(str(GROUP), "no")]
    assert client.get("/api/ovn/changes/?subject=nothing").status_code == 400


def test_a_comparison_is_asked_for(who: cloud.People, settings: Any) -> None:
    client = cloud.client_of(who.admin)
    assert client.post("/api/ovn/check/").status_code == 202
    assert OvnChange.objects.last().subject == OvnSubject.ALL  # type: ignore[union-attr]
    settings.KILONOVA = {**settings.KILONOVA, "OVN_NORTHBOUND": ""}
    refused = client.post("/api/ovn/check/")
    assert (refused.status_code, "OVN_NORTHBOUND is empty" in refused.content.decode()) == (409, True)
    assert client.get("/api/ovn/").json()["northbound"] == ""


@pytest.mark.parametrize("name", ["member", "reader", "stranger"])
def test_nobody_else_learns_of_it(who: cloud.People, name: str) -> None:
    client = cloud.client_of(getattr(who, name))
    answers = [client.get("/api/ovn/"), client.get("/api/ovn/changes/"), client.post("/api/ovn/check/")]
    assert [one.status_code for one in answers] == [403, 403, 403]
    assert OvnChange.objects.count() == 2


def test_admin_tells_it_again_and_compares(who: cloud.People, client: Client) -> None:
    client.force_login(User.objects.create_superuser(username="super", password="x"))
    rows = [str(pk) for pk in OvnChange.objects.values_list("pk", flat=True)]
    chosen = {"action": "try_again", "_selected_action": rows}
    said = client.post(reverse("admin:servers_ovnchange_changelist"), chosen, follow=True).content.decode()
    assert "1 accepted." in said
    assert "OVN has refused nothing of it" in said
    assert OvnChange.objects.get(subject_id=GROUP).retry_at is None
    chosen = {"action": "compare", "_selected_action": ["northbound"]}
    assert (
        "1 accepted." in client.post(reverse("admin:servers_ovncheck_changelist"), chosen, follow=True).content.decode()
    )
    assert OvnChange.objects.filter(subject=OvnSubject.ALL).exists()


def test_page_of_drift_says_what_the_comparison_found(who: cloud.People, client: Client) -> None:
    client.login(username="root", password=cloud.PASSWORD)
    page = client.get("/drift/").content.decode()
    assert "1 of 7 rows were not as they should be and were put right. 2 changes wait for it." in page
