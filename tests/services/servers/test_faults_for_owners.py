"""What the owner of an instance reads of a failure: its class and its step; all that names hosts is for operators."""

from typing import Any

import pytest
from django.db.models import F

from computeagent.protocol.guests import GuestReturn
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import BuildFailure, FailureClass
from computeagent.protocol.work import WorkKind
from controlplane.identity.domain import Caller
from controlplane.infra.db import now_plus
from controlplane.work.models import Work
from controlplane.work.reconcile import end_overdue
from controlplane.work.work import work_take
from servers.agent_api import conductor_connect
from servers.catalog.services.server_group import server_group_create
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.models import AttemptRecord, Instance, InstanceAction, InstanceFault
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = "[Errno 28] No space left on device: '/var/lib/kilonova/agents/h1/i/disk' (host has 8192 MiB)"
SECRETS = ("h1", "/var/lib", "8192 MiB", "worker-7", "Errno")


def read_by(caller: Caller, instance: Instance) -> str:
    """All that the API says to this person of what happened to the instance."""
    client = world.client_of(caller)
    journey = client.get(f"/api/instances/{instance.pk}/journey/").content.decode()
    return journey + client.get(f"/api/instances/{instance.pk}/").content.decode()


def assert_nothing_leaks(who: world.People, instance: Instance) -> None:
    said = read_by(who.member, instance)
    assert [secret for secret in SECRETS if secret in said] == []


def fault(instance: Instance) -> InstanceFault:
    return InstanceFault.objects.filter(instance_uuid=instance.pk).latest("created_at")


def passed_deadline(**work: Any) -> None:
    Work.objects.filter(**work).update(deadline_at=now_plus(-1))
    end_overdue()


def built_by_hand(who: world.People) -> Instance:
    made = world.create(who.member)[0]
    world.pump()
    return made


@pytest.mark.parametrize(
    ("failure_class", "message"),
    [
        (FailureClass.HOST, "The host could not build the instance (class host, step spawning)."),
        (
            FailureClass.NETWORK,
            "The network, the image or a volume did not reach the host (class network, step spawning).",
        ),
        (FailureClass.POLICY, "The server group does not allow the chosen host (class policy, step spawning)."),
    ],
)
def test_failed_build_names_class_and_step_to_its_owner(failure_class: FailureClass, message: str) -> None:
    who = world.cloud("h1")
    made = built_by_hand(who)
    lease = world.order("h1", WorkKind.BUILD).lease
    Instance.objects.update(attempts=3, hosts_tried=["x", "y"])
    failure = BuildFailure(failure_class, "spawning", TEXT, details="Traceback ...")
    conductor_connect().build_failed(lease=lease, failure=failure)
    assert fault(made).message == message
    assert fault(made).details == f"{TEXT}\nTraceback ..."
    assert InstanceAction.objects.get(action="create").message == message
    assert TEXT in AttemptRecord.objects.get().reason
    assert_nothing_leaks(who, made)
    assert TEXT in read_by(who.admin, made)


@pytest.mark.parametrize("stop", ["", "."])
def test_owner_reads_what_is_wrong_with_the_own_request(stop: str) -> None:
    who = world.cloud("h1")
    made = built_by_hand(who)
    world.fail_build("h1", FailureClass.USER, f"user data is not base64{stop}")
    assert fault(made).message == "The request cannot be built (class user, step spawning): user data is not base64."


def test_overdue_build_tells_its_owner_the_step_and_operators_who_held_it() -> None:
    who = world.cloud("h1")
    made = built_by_hand(who)
    lease = world.order("h1", WorkKind.BUILD).lease
    conductor_connect().record_steps(lease=lease, begins="spawning")
    passed_deadline(kind="build")
    assert "build passed its deadline in step spawning" in fault(made).message
    assert "last held by h1:1" in fault(made).details
    assert "last held by h1:1" in AttemptRecord.objects.get().reason
    assert_nothing_leaks(who, made)


def test_build_out_of_attempts_tells_operators_the_last_error() -> None:
    who = world.cloud("h1")
    made = built_by_hand(who)
    Work.objects.filter(kind="build").update(attempt=F("max_attempts"), outcome={"error": TEXT})
    end_overdue()
    assert "build gave up after" in fault(made).message
    assert TEXT in fault(made).details
    assert_nothing_leaks(who, made)


@pytest.mark.parametrize("action", ["stop", "reboot"])
def test_failed_action_names_its_step_to_the_owner(action: str) -> None:
    who = world.cloud("h1")
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action=action)
    lease = world.order("h1").lease
    conductor_connect().action_failed(lease=lease, step="the_step", message=TEXT)
    assert fault(instance).message == f"The host could not do it ({action}, step the_step)."
    assert fault(instance).details == TEXT
    assert_nothing_leaks(who, instance)


def test_overdue_action_and_deletion_tell_their_owner_no_host() -> None:
    who = world.cloud("h1")
    instance = world.active(who.member)
    instance_act(caller=who.member, instance_id=instance.pk, action="stop")
    world.order("h1")
    passed_deadline(kind="stop")
    assert "last held by h1:1" in fault(instance).details
    instance_delete(caller=who.member, instance_id=instance.pk)
    world.order("h1")
    passed_deadline(kind="delete")
    assert "last held by h1:1" in fault(instance).details
    assert_nothing_leaks(who, instance)


def test_overdue_scheduling_tells_its_owner_no_machine_of_a_conductor() -> None:
    who = world.cloud("h1")
    made = world.create(who.member)[0]
    assert work_take(work_id=Work.objects.get().pk, owner="worker-7:1") is not None
    passed_deadline(kind="schedule_and_build")
    assert "passed its deadline" in fault(made).message
    assert "last held by worker-7:1" in fault(made).details
    assert_nothing_leaks(who, made)


def test_overdue_rescheduling_tells_its_owner_no_machine_of_a_conductor() -> None:
    who = world.cloud("h1", "h2")
    made = built_by_hand(who)
    world.fail_build(world.instance_of(made.pk).host, message=TEXT)
    assert work_take(work_id=Work.objects.get(kind="reschedule").pk, owner="worker-7:1") is not None
    passed_deadline(kind="reschedule")
    assert "last held by worker-7:1" in fault(made).details
    assert_nothing_leaks(who, made)


def test_guest_that_could_not_be_brought_back_tells_operators_why() -> None:
    who = world.cloud("h1")
    instance = world.active(who.member)
    returns = [GuestReturn(str(instance.pk), PowerState.SHUTDOWN, TEXT)]
    conductor_connect().guests_returned(host="h1", returns=returns)
    assert (fault(instance).message, fault(instance).details) == (
        "The guest could not be started again after its host came back.",
        TEXT,
    )
    assert_nothing_leaks(who, instance)


@pytest.mark.parametrize("policy", ["anti-affinity", "affinity"])
def test_late_group_check_names_no_host(policy: str) -> None:
    who = world.cloud("h1", "h2")
    group = server_group_create(caller=who.member, name="g", policy=policy)
    first, second = (world.create(who.member, name, hints={"group": str(group.pk)})[0] for name in ("a", "b"))
    world.pump()
    # As a race would leave them: both on one host, or each on another.
    Instance.objects.filter(pk=first.pk).update(host="h1")
    Instance.objects.filter(pk=second.pk).update(host="h1" if policy == "anti-affinity" else "h2")
    work = Work.objects.get(kind="build", subject=second.pk)
    Work.objects.filter(pk=work.pk).update(queue="compute.h1")
    order = conductor_connect().take(host="h1", work_id=str(work.pk), owner="h1:1")
    assert order is not None
    verdict = conductor_connect().group_check(lease=order.lease)
    assert (verdict.allowed, policy in verdict.reason) == (False, True)
    assert [host for host in ("h1", "h2") if host in verdict.reason] == []
