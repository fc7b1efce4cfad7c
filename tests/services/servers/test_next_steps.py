"""An instance that found no host: what would help, which of it a press does, and the request asked for otherwise."""

import uuid
from typing import Any

import pytest
from django.test import Client

from controlplane.audit_log.models import AuditLogEntry
from controlplane.identity.domain import Caller
from controlplane.identity.models import Project, User
from controlplane.kernel.errors import Conflict, InvalidFields, QuotaExceeded
from scheduling.fleet.services.service_states import service_disable
from servers.instances.domain.request_changes import RequestChanges
from servers.instances.services.schedule_again import instance_schedule_again
from servers.models import BuildRequest, Instance, InstanceAction, RequestSpec
from servers.repair.services.audit import audit_findings
from servers.trials.next_steps import NextSteps, StepKind, instance_next_steps
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def failed(who: world.People, **more: Any) -> Instance:
    """One that asked for more than the only host has."""
    world.flavor("huge", vcpus=8)
    made = world.create(who.member, flavor="huge", **more)[0]
    world.pump()
    return world.instance_of(made.pk)


def steps(caller: Caller, instance: Instance) -> NextSteps:
    return instance_next_steps(caller=caller, instance_id=instance.pk)


def browser(caller: Caller) -> Client:
    client = Client()
    client.force_login(User.objects.get(pk=caller.user_id))
    return client


def test_smaller_flavor_is_a_step_that_does_it() -> None:
    who = world.cloud("small")
    old = failed(who)
    found = steps(who.member, old)
    assert not found.fits
    step = next(one for one in found.doable if one.changes and one.changes.flavor)
    instance_schedule_again(instance_id=old.pk, caller=who.member, changes=step.changes)  # type: ignore[arg-type]
    request = BuildRequest.objects.get(instance_uuid=old.pk)
    assert request.vcpus < old.vcpus
    world.pump()
    world.finish_builds()
    new = world.instance_of(old.pk)
    assert (new.vm_state, new.host, new.flavor["vcpus"]) == ("active", "small", new.vcpus)
    assert RequestSpec.objects.get(instance_uuid=old.pk).typed_body.flavor.name == new.flavor["name"]
    message = InstanceAction.objects.get(action="schedule_again").message
    assert f"with flavor {new.flavor['name']}." in message
    assert audit_findings() == []


def test_members_are_told_of_no_host_and_admins_enable_one_by_a_press() -> None:
    who = world.cloud("h1", "h2")
    service_disable(host="h1", reason="disks")
    service_disable(host="h2", reason="disks")
    made = world.create(who.member)[0]
    world.pump()
    old = world.instance_of(made.pk)
    assert steps(who.member, old).steps == ()
    found = steps(who.admin, old)
    assert {one.host for one in found.doable} == {"h1", "h2"}
    assert {one.kind for one in found.doable} == {StepKind.ENABLE_HOST}
    page = browser(who.admin)
    answer = page.get(f"/instances/{old.pk}/next/").content.decode()
    assert "Enable h1" in answer
    assert page.post(f"/instances/{old.pk}/next/", {"enable": "h1"}).status_code == 302
    assert steps(who.member, old).fits
    assert "Schedule again" in browser(who.member).get(f"/instances/{old.pk}/next/").content.decode()
    assert browser(who.member).post(f"/instances/{old.pk}/next/", {"enable": "h2"}).status_code == 403


def test_cause_is_named_with_its_object_on_page_and_in_the_list() -> None:
    who = world.cloud("h1", "h2")
    world.flavor("gpu", extra_specs={"trait:CUSTOM_GPU": "required"})
    made = world.create(who.member, flavor="gpu")[0]
    world.pump()
    cause = "No host fits: all 2 lack trait CUSTOM_GPU"
    for caller in (who.member, who.admin):
        for path in (f"/instances/{made.pk}/", "/instances/?all_projects=1"):
            assert cause in browser(caller).get(path).content.decode()
    assert f'hx-get="/instances/{made.pk}/next/"' in browser(who.member).get(f"/instances/{made.pk}/").content.decode()
    found = steps(who.member, world.instance_of(made.pk))
    assert any(one.changes and one.changes.flavor for one in found.doable)


def test_other_zone_and_dropped_hint_are_asked_for_and_a_wrong_one_is_refused() -> None:
    who = world.cloud("h1")
    first = world.create(who.member)[0]
    world.pump()
    world.finish_builds()
    made = world.create(who.member, hints={"different_host": [str(first.pk)]})[0]
    world.pump()
    old = world.instance_of(made.pk)
    wrong = RequestChanges(flavor="nothing", availability_zone="nowhere", without_hints=("query",))
    with pytest.raises(InvalidFields) as caught:
        instance_schedule_again(instance_id=old.pk, caller=who.member, changes=wrong)
    assert set(caught.value.errors) == {"flavor", "availability_zone", "without_hints"}
    assert Instance.objects.filter(pk=old.pk, vm_state="error").exists()
    changes = RequestChanges(availability_zone="", without_hints=("different_host",))
    instance_schedule_again(instance_id=old.pk, caller=who.member, changes=changes)
    world.pump()
    world.finish_builds()
    assert world.instance_of(old.pk).vm_state == "active"


def test_stale_page_does_nothing_and_a_larger_flavor_needs_its_quota() -> None:
    who = world.cloud("small")
    old = failed(who)
    world.flavor("larger", vcpus=9)
    with pytest.raises(Conflict, match="since you looked"):
        instance_schedule_again(
            instance_id=old.pk, caller=who.member, changes=RequestChanges(generation=old.generation + 1)
        )
    Project.objects.filter(pk=old.project_id).update(quota_cores=8)
    with pytest.raises(QuotaExceeded):
        instance_schedule_again(instance_id=old.pk, caller=who.member, changes=RequestChanges(flavor="larger"))
    assert Instance.objects.filter(pk=old.pk, vm_state="error").exists()
    instance_schedule_again(instance_id=old.pk, caller=who.member, changes=RequestChanges(generation=old.generation))
    with pytest.raises(Conflict):
        steps(who.member, old)


def test_api_and_page_do_it_and_the_audit_log_says_so() -> None:
    who = world.cloud("small")
    old = failed(who)
    api = world.client_of(who.member)
    body = api.get(f"/api/instances/{old.pk}/next-steps/").json()
    assert body["fits"] is False
    step = next(one for one in body["steps"] if one["kind"] == "schedule_again")
    bad = api.post(f"/api/instances/{old.pk}/schedule-again/", {"flavour": "x"}, format="json")
    assert bad.status_code == 400
    asked = {"flavor": step["changes"]["flavor"], "generation": body["generation"]}
    assert browser(who.member).post(f"/instances/{old.pk}/again/", asked).status_code == 302
    entry = AuditLogEntry.objects.get(action="instance.schedule_again")
    assert "flavor" in str(entry.after)
    assert api.post(f"/api/instances/{old.pk}/schedule-again/", {"generation": 0}, format="json").status_code == 409


def test_strangers_and_readers() -> None:
    who = world.cloud("small")
    old = failed(who)
    assert browser(who.stranger).get(f"/instances/{old.pk}/next/").status_code == 404
    reader = browser(who.reader)
    page = reader.get(f"/instances/{old.pk}/next/", headers={"HX-Request": "true"}).content.decode()
    assert "does not fit now" in page
    assert "<button" not in page
    assert reader.post(f"/instances/{old.pk}/again/", {}).status_code == 403
    assert world.client_of(who.stranger).get(f"/api/instances/{uuid.uuid4()}/next-steps/").status_code == 404
