"""Removing a host and forcing one down: /api/hosts/, the Django admin, and the commands."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from controlplane.identity.models import User
from scheduling.fleet.services.service_states import service_disable, service_force_down
from scheduling.models import ComputeNode, Service
from tests.worlds import cloud as world
from tests.worlds.admin_actions import ask_and_confirm
from tests.worlds.agents import code_of, door_agent

pytestmark = pytest.mark.django_db(transaction=True)
URL = "/api/hosts/h1/"


@pytest.fixture
def who() -> world.People:
    return world.cloud("h1", "h2")


def client_for(person: str, who: world.People) -> APIClient:
    return APIClient() if person == "nobody" else world.client_of(getattr(who, person))


def hosts() -> list[str]:
    return sorted(Service.objects.values_list("host", flat=True))


@pytest.mark.parametrize(
    ("person", "status"), [("admin", 200), ("member", 403), ("reader", 403), ("stranger", 403), ("nobody", 401)]
)
def test_who_may_remove_preview_and_force_down(who: world.People, person: str, status: int) -> None:
    service_disable(host="h1")
    client = client_for(person, who)
    assert client.get(URL + "removal/").status_code == status
    assert client.post(URL + "force_down/", {}, format="json").status_code == status
    assert Service.objects.get(host="h1").forced_down is (status == 200)
    assert client.delete(URL).status_code == status
    assert hosts() == (["h2"] if status == 200 else ["h1", "h2"])


def test_refusal_lists_typed_reasons_and_the_answer_what_went(who: world.People) -> None:
    client = world.client_of(who.admin)
    refused = client.delete(URL)
    assert refused.status_code == 409
    error = refused.json()["error"]
    assert (error["code"], error["host"]) == ("host_in_use", "h1")
    assert [one["reason"] for one in error["obstacles"]] == ["takes_instances"]
    service_disable(host="h1")
    done = client.delete(URL).json()
    assert (done["host"], done["providers"], done["instances_left"]) == ("h1", 1, [])
    assert client.delete(URL).status_code == 404


def test_host_that_enrolled_and_never_registered_is_shown_and_removed(who: world.People) -> None:
    door_agent("cmp-9")
    client = world.client_of(who.admin)
    assert [one["host"] for one in client.get("/api/agents/").json()["results"]] == ["cmp-9"]
    preview = client.get("/api/hosts/cmp-9/removal/")
    assert (preview.status_code, preview.json()["obstacles"]) == (200, [])
    done = client.delete("/api/hosts/cmp-9/")
    assert (done.status_code, done.json()["host"]) == (200, "cmp-9")
    assert client.get("/api/agents/").json()["results"] == []
    assert client.delete("/api/hosts/cmp-9/").status_code == 404


def test_forced_removal_by_the_api_lists_what_it_leaves(who: world.People) -> None:
    service_disable(host="h2")
    instance = world.active(who.member, "web-0")
    client = world.client_of(who.admin)
    assert client.delete(URL + "?force=true").json()["error"]["obstacles"][0]["reason"] == "not_forced_down"
    assert client.post(URL + "force_down/", {}, format="json").json()["state"] == "down"
    preview = client.get(URL + "removal/").json()
    assert [one["reason"] for one in preview["obstacles"]] == ["instances"]
    assert preview["obstacles_to_force"] == []
    assert preview["left_behind"][0].startswith("1 instance stays in the database")
    done = client.delete(URL + "?force=true").json()
    assert done["instances_left"] == [{"id": str(instance.pk), "name": "web-0"}]
    assert done["allocations_freed"] == 1


@pytest.mark.parametrize("query", ["force=maybe", "forced=true"])
def test_bad_query_names_its_field_and_removes_nothing(who: world.People, query: str) -> None:
    service_force_down(host="h1", forced_down=True)
    answer = world.client_of(who.admin).delete(f"{URL}?{query}")
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == query.partition("=")[0]
    assert hosts() == ["h1", "h2"]


@pytest.mark.parametrize("name", ["h9", "h%00", "%F0%9F%98%80"])
def test_host_that_is_not_there_is_404_by_every_verb(who: world.People, name: str) -> None:
    client = world.client_of(who.admin)
    assert client.delete(f"/api/hosts/{name}/").status_code == 404
    assert client.get(f"/api/hosts/{name}/removal/").status_code == 404
    assert client.post(f"/api/hosts/{name}/force_down/", {}, format="json").status_code == 404


def test_forced_down_is_taken_back(who: world.People) -> None:
    client = world.client_of(who.admin)
    client.post(URL + "force_down/", {}, format="json")
    assert client.post(URL + "force_down/", {"forced_down": False}, format="json").json()["state"] == "up"
    assert client.post("/api/hosts/h9/force_down/", {}, format="json").status_code == 404


def test_agent_is_told_that_its_host_is_forced_down_and_refused_once_it_is_removed(who: world.People) -> None:
    agent = door_agent("h1")
    service_force_down(host="h1", forced_down=True)
    assert agent.tell("heartbeat", host="h1").forced_down
    assert world.client_of(who.admin).delete(URL).status_code == 200
    answer = agent.ask("heartbeat", host="h1")
    assert (answer.status_code, code_of(answer)) == (403, "secret_refused")
    assert "its host was removed" in json.loads(answer.content)["error"]["message"]
    assert hosts() == ["h2"]


@pytest.mark.parametrize("model", ["service", "computenode"])
def test_admin_removes_many_with_a_line_for_each_refusal(who: world.People, model: str) -> None:
    service_disable(host="h1")
    browser = Client()
    browser.force_login(User.objects.create_superuser(username="boss", password=world.PASSWORD))
    rows = Service if model == "service" else ComputeNode
    address = reverse(f"admin:scheduling_{model}_changelist")
    keys = [str(pk) for pk in rows.objects.order_by("host").values_list("pk", flat=True)]
    page = ask_and_confirm(browser, address, "remove_hosts", keys)
    shown = page.content.decode()
    assert "1 removed." in shown
    assert "Host h2 is not removed. It is up and takes new instances" in shown
    assert hosts() == ["h2"]


def test_command_refuses_removes_and_forces(who: world.People, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match=r"Host h1 is not removed\. It is up and takes new instances"):
        call_command("host_delete", host="h1")
    service_disable(host="h2")
    instance = world.active(who.member, "web-0")
    with pytest.raises(CommandError, match="not forced down"):
        call_command("host_delete", "--host", "h1", "--force")
    call_command("host_force_down", "--host", "h1", stdout=StringIO())
    monkeypatch.setattr("builtins.input", lambda _: "h2")
    with pytest.raises(CommandError, match="Nothing was removed"):
        call_command("host_delete", "--host", "h1", "--force", stdout=StringIO())
    out = StringIO()
    call_command("host_delete", "--host", "h1", "--force", "--yes", stdout=out)
    assert f"left without a host: {instance.pk} web-0" in out.getvalue()
    call_command("host_delete", "--host", "h2", stdout=out)
    assert "Host h2 is removed with 1 resource provider(s)." in out.getvalue()
    assert hosts() == []
    with pytest.raises(CommandError, match="There is no host h2"):
        call_command("host_delete", "--host", "h2")


def test_command_takes_forced_down_back(who: world.People) -> None:
    call_command("host_force_down", "--host", "h1", stdout=StringIO())
    assert Service.objects.get(host="h1").forced_down
    call_command("host_force_down", "--host", "h1", "--undo", stdout=StringIO())
    assert not Service.objects.get(host="h1").forced_down
    with pytest.raises(CommandError, match="no compute service on host h9"):
        call_command("host_force_down", "--host", "h9")
