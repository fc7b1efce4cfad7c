"""A create that finds no host: the same sentence wherever one looks; hosts are named to admins alone."""

from typing import Any

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from controlplane.identity.models import User
from scheduling.fleet.services.service_states import service_disable
from scheduling.models import SchedulingDecision
from servers.models import Instance, InstanceActionEvent
from tests.fixtures.remembering import remembered
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
@remembered
def failed() -> tuple[world.People, Instance]:
    """Forty vCPUs are asked for; one host has too few left, the other is disabled."""
    who = world.cloud("h1", "h2", vcpus=1)
    world.flavor("m1.huge", vcpus=40)
    service_disable(host="h2", reason="new disks")
    made = world.create(who.member, flavor="m1.huge")[0]
    world.pump()
    return who, Instance.objects.get(pk=made.pk)


def said(caller: Caller, path: str) -> Any:
    answer = world.client_of(caller).get(f"/api/{path}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def page(caller: Caller, path: str) -> str:
    client = Client()
    client.force_login(User.objects.get(pk=caller.user_id))
    return client.get(path).content.decode().replace("&#x27;", "'")


def sentence_of(instance: Instance) -> str:
    sentence = SchedulingDecision.objects.get(pk=instance.decision_id).verdict_redacted
    assert sentence.startswith("No host fits: ")
    assert "1 lacks vCPUs" in sentence
    assert "1 is disabled" in sentence
    return sentence


def test_fault_of_the_api_is_the_verdict(failed: tuple[world.People, Instance]) -> None:
    who, instance = failed
    assert said(who.member, f"instances/{instance.pk}/")["fault"]["message"] == sentence_of(instance)
    assert {one["message"] for one in said(who.admin, "instance-faults/")["results"]} == {sentence_of(instance)}


def test_action_and_its_event_are_the_verdict(failed: tuple[world.People, Instance]) -> None:
    who, instance = failed
    (action,) = said(who.member, f"instances/{instance.pk}/journey/")["actions"]
    assert (action["result"], action["message"]) == ("error", sentence_of(instance))
    (event,) = action["events"]
    assert (event["name"], event["result"]) == ("select_destinations", "error")
    assert InstanceActionEvent.objects.get().details == sentence_of(instance)


def test_pages_show_the_verdict(failed: tuple[world.People, Instance]) -> None:
    who, instance = failed
    for path in (f"/instances/{instance.pk}/", f"/decisions/{instance.decision_id}/"):
        assert sentence_of(instance) in page(who.member, path)


def test_decision_is_the_verdict(failed: tuple[world.People, Instance]) -> None:
    who, instance = failed
    assert said(who.member, f"decisions/{instance.decision_id}/")["verdict"] == sentence_of(instance)


def test_nothing_that_a_tenant_sees_names_a_host(failed: tuple[world.People, Instance]) -> None:
    who, instance = failed
    paths = (f"instances/{instance.pk}/", f"instances/{instance.pk}/journey/", f"decisions/{instance.decision_id}/")
    shown = "".join(str(said(who.member, path)) for path in paths)
    shown += page(who.member, f"/instances/{instance.pk}/") + page(who.member, f"/decisions/{instance.decision_id}/")
    assert "closest is h1" not in shown
    assert "new disks" not in shown
    assert "'h2'" not in shown


def test_admin_is_told_the_nearest_host(failed: tuple[world.People, Instance]) -> None:
    who, instance = failed
    whole = said(who.admin, f"decisions/{instance.decision_id}/")["verdict"]
    assert whole.startswith(sentence_of(instance).partition(";")[0])
    assert "closest is h1, 36 vCPU short" in whole
    assert whole in page(who.admin, f"/decisions/{instance.decision_id}/")
