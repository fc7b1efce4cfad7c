"""Shelve, leave the host, come back on any: what is held in each step, and what stays when a step does not end well."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models import F

from computeagent.drivers.base import DriverError
from computeagent.protocol.work import WorkKind
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, Fenced, Forbidden, InvalidFields, NotFound, QuotaExceeded
from controlplane.work import jobs
from controlplane.work.models import Work
from controlplane.work.reconcile import end_overdue
from controlplane.work.work import works_take
from placement.models import Allocation
from scheduling.models import Service
from servers.catalog.selectors.quota import quota_usage
from servers.catalog.services.quota import project_quota_limit
from servers.conductor.unshelve import unshelve_schedule
from servers.images.services.image_store import image_delete
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.instances.services.reset_state import instance_reset_state
from servers.instances.services.shelving import shelved_offload_round
from servers.models import Image, Instance, InstanceAction, InstanceFault, RequestSpec
from servers.repair.services.task_heal import overdue_tasks_heal
from tests.worlds import cloud as world
from tests.worlds.agent_hands import Hands, built, people_and_image

pytestmark = pytest.mark.django_db(transaction=True)


class Cloud:
    """Two hosts, and an instance on the first."""

    def __init__(self, who: world.People, state_dir: Path) -> None:
        self.who = who
        self.h1 = Hands("h1", state_dir)
        self.instance = built(who.member, self.h1)
        self.h2 = Hands("h2", state_dir)

    def act(self, action: str, caller: Any = None, **arguments: str) -> Instance:
        return instance_act(
            caller=caller or self.who.member, instance_id=self.instance.pk, action=action, arguments=arguments
        )

    def now(self) -> Instance:
        self.instance.refresh_from_db()
        return self.instance

    def states(self) -> tuple[str, str, str]:
        now = self.now()
        return now.vm_state, now.task_state, now.host

    def holds(self) -> dict[str, int]:
        """What it holds in Placement, on whichever node."""
        rows = Allocation.objects.filter(consumer__uuid=self.instance.pk).values_list(
            "resource_class__name", "used", "provider__name"
        )
        assert len({name for _, _, name in rows}) <= 1
        return {name: used for name, used, _ in rows}

    def shelve(self) -> Image:
        self.act("shelve")
        self.h1.do(WorkKind.SHELVE)
        image = Image.objects.get(instance_uuid=self.instance.pk)
        assert self.now().shelved_image_id == image.pk
        return image

    def offload(self) -> Image:
        image = self.shelve()
        self.h1.do(WorkKind.SHELVE_OFFLOAD)
        assert (self.states(), self.holds()) == (("shelved_offloaded", "", ""), {})
        return image

    def off(self, *hosts: str) -> None:
        Service.objects.filter(host__in=hosts).update(disabled=True)


HELD = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}


def offload_after(settings: Any, seconds: float) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "SHELVED_OFFLOAD_TIME_S": seconds}


@pytest.fixture(autouse=True)
def store(settings: Any, tmp_path: Path) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images", "IMAGE_RESERVE_BYTES": 0}


@pytest.fixture
def cloud(tmp_path: Path) -> Cloud:
    return Cloud(people_and_image(), tmp_path)


def test_shelved_instance_leaves_its_host_and_comes_back_on_another(cloud: Cloud) -> None:
    used = quota_usage(project_id=cloud.who.member.project_id)
    cloud.act("shelve")
    assert (cloud.states(), cloud.holds()) == (("active", "shelving", "h1"), HELD)
    cloud.h1.do(WorkKind.SHELVE)
    assert (cloud.states(), cloud.holds()) == (("shelved", "shelving_offloading", "h1"), HELD)
    image = Image.objects.get(instance_uuid=cloud.instance.pk)
    assert (image.name, image.status, cloud.h1.guests()) == (
        "vm-shelved",
        "active",
        {str(cloud.instance.pk): "shutdown"},
    )
    cloud.h1.do(WorkKind.SHELVE_OFFLOAD)
    assert (cloud.states(), cloud.holds(), cloud.h1.guests()) == (("shelved_offloaded", "", ""), {}, {})
    assert quota_usage(project_id=cloud.who.member.project_id) == used
    cloud.off("h1")
    cloud.act("unshelve")
    assert (cloud.states(), cloud.holds()) == (("shelved_offloaded", "unshelving", ""), {})
    world.pump()
    assert (cloud.states(), cloud.holds()) == (("shelved_offloaded", "unshelving", "h2"), HELD)
    cloud.h2.do(WorkKind.UNSHELVE)
    assert (cloud.states(), cloud.holds()) == (("active", "", "h2"), HELD)
    assert cloud.h2.guests() == {str(cloud.instance.pk): "running"}
    now = cloud.now()
    assert (now.shelved_at, now.shelved_image_id, now.launched_on) == (None, None, "h2")
    assert Image.objects.get(pk=image.pk).status == "deleted"
    assert now.image_id != image.pk
    results = InstanceAction.objects.filter(instance_uuid=now.pk).values_list("action", "result")
    assert dict(results) == dict.fromkeys(("create", "shelve", "shelve_offload", "unshelve"), "success")


def test_limit_that_was_lowered_keeps_nobody_from_coming_back_since_it_counted_all_the_time(cloud: Cloud) -> None:
    project = cloud.who.member.project_id
    cloud.act("shelve")
    cloud.h1.do(WorkKind.SHELVE)
    cloud.h1.do(WorkKind.SHELVE_OFFLOAD)
    project_quota_limit(project_id=project, limits={"instances": 1}, force=False)
    with pytest.raises(QuotaExceeded, match="1 of 1 in use"):
        world.create(cloud.who.member)
    project_quota_limit(project_id=project, limits={"instances": 0, "cores": 0, "ram_mib": 0}, force=True)
    cloud.off("h1")
    cloud.act("unshelve")
    world.pump()
    cloud.h2.do(WorkKind.UNSHELVE)
    assert cloud.states() == ("active", "", "h2")


def test_setting_says_when_it_leaves_its_host(cloud: Cloud, settings: Any) -> None:
    offload_after(settings, -1)
    cloud.shelve()
    assert shelved_offload_round() == 0
    offload_after(settings, 60)
    assert shelved_offload_round() == 0
    Instance.objects.update(shelved_at=F("shelved_at") - timedelta(seconds=61))
    assert shelved_offload_round() == 1
    assert shelved_offload_round() == 0
    assert cloud.states() == ("shelved", "shelving_offloading", "h1")


@pytest.mark.parametrize("of_flavor", [True, False])
def test_guest_with_a_tpm_stays_where_that_is(cloud: Cloud, *, of_flavor: bool) -> None:
    row = world.instance_of(cloud.instance.pk)
    key = {"hw:tpm_version": "2.0"} if of_flavor else {"hw_tpm_version": "2.0"}
    if of_flavor:
        Instance.objects.update(flavor=row.flavor | {"extra_specs": key})
    else:
        Instance.objects.update(image=row.image | {"properties": key})
    with pytest.raises(Conflict, match="whose state is kept on its host alone"):
        cloud.act("shelve")
    assert cloud.states() == ("active", "", "h1")


def test_only_an_admin_sends_it_off_its_host(cloud: Cloud, settings: Any) -> None:
    offload_after(settings, -1)
    cloud.shelve()
    with pytest.raises(Forbidden):
        cloud.act("shelve_offload")
    cloud.act("shelve_offload", caller=cloud.who.admin)
    cloud.h1.do(WorkKind.SHELVE_OFFLOAD)
    assert (cloud.states(), cloud.holds()) == (("shelved_offloaded", "", ""), {})


def test_on_its_host_it_is_started_where_it_is(cloud: Cloud, settings: Any) -> None:
    offload_after(settings, -1)
    image = cloud.shelve()
    with pytest.raises(Conflict, match="still on its host"):
        cloud.act("unshelve", availability_zone="nova")
    cloud.act("unshelve")
    cloud.h1.do(WorkKind.UNSHELVE)
    assert (cloud.states(), cloud.holds()) == (("active", "", "h1"), HELD)
    assert (Image.objects.get(pk=image.pk).status, cloud.now().shelved_image_id) == ("deleted", None)


def test_image_that_it_is_kept_in_is_not_deleted_but_with_it(cloud: Cloud) -> None:
    image = cloud.offload()
    with pytest.raises(Conflict, match="is shelved, and kept in it"):
        image_delete(caller=cloud.who.admin, image_id=image.pk)
    instance_delete(caller=cloud.who.member, instance_id=cloud.instance.pk)
    assert (cloud.now().deleted_at is not None, Image.objects.get(pk=image.pk).status) == (True, "deleted")


def test_image_that_went_before_shelving_ended_keeps_the_instance_as_it_was(cloud: Cloud) -> None:
    cloud.act("shelve")
    image = Image.objects.get(instance_uuid=cloud.instance.pk)
    told = cloud.h1.conductor.upload_end
    conductor = cloud.h1.conductor

    def deleted_then(**arguments: Any) -> None:
        told(**arguments)
        image_delete(caller=cloud.who.member, image_id=image.pk)

    conductor.upload_end = deleted_then
    cloud.h1.do(WorkKind.SHELVE)
    assert (cloud.states(), cloud.holds()) == (("active", "", "h1"), HELD)
    assert cloud.h1.guests() == {str(cloud.instance.pk): "running"}
    assert InstanceAction.objects.get(action="shelve").result == "error"


def test_shelving_that_fails_after_its_agent_died_starts_the_guest_again(cloud: Cloud, monkeypatch: Any) -> None:
    cloud.act("shelve")
    cloud.h1.take(WorkKind.SHELVE)
    cloud.h1.fake.stop(str(cloud.instance.pk), grace_s=0)
    cloud.h1.conductor.void_leases(host="h1", owner_prefix="h1:")

    def broken(*_: object) -> None:
        raise DriverError("the disk is full")

    monkeypatch.setattr(cloud.h1.fake, "snapshot", broken)
    cloud.h1.do(WorkKind.SHELVE)
    assert (cloud.states(), cloud.h1.guests()) == (("active", "", "h1"), {str(cloud.instance.pk): "running"})
    assert Image.objects.get(instance_uuid=cloud.instance.pk).status == "deleted"


def test_no_host_leaves_it_shelved_with_the_reason(cloud: Cloud) -> None:
    image = cloud.offload()
    cloud.off("h1", "h2")
    cloud.act("unshelve")
    world.pump()
    assert (cloud.states(), cloud.holds()) == (("shelved_offloaded", "", ""), {})
    fault = InstanceFault.objects.get(instance_uuid=cloud.instance.pk)
    assert (fault.step, "No valid host" in fault.message or "host" in fault.message) == ("select_destinations", True)
    assert Image.objects.get(pk=image.pk).status == "active"
    assert InstanceAction.objects.get(action="unshelve").result == "error"
    Service.objects.update(disabled=False)
    cloud.act("unshelve")
    world.pump()
    host = cloud.now().host
    {"h1": cloud.h1, "h2": cloud.h2}[host].do(WorkKind.UNSHELVE)
    assert (cloud.states(), cloud.holds()) == (("active", "", host), HELD)


def test_build_that_failed_gives_all_back_and_leaves_it_shelved(cloud: Cloud, monkeypatch: Any) -> None:
    image = cloud.offload()
    cloud.off("h1")
    cloud.act("unshelve")
    world.pump()

    def broken(_guest: object) -> None:
        raise DriverError("no QEMU")

    monkeypatch.setattr(cloud.h2.fake, "spawn", broken)
    cloud.h2.do(WorkKind.UNSHELVE)
    assert (cloud.states(), cloud.holds(), cloud.h2.guests()) == (("shelved_offloaded", "", ""), {}, {})
    assert Image.objects.get(pk=image.pk).status == "active"
    assert InstanceFault.objects.get(instance_uuid=cloud.instance.pk).step == "spawning"


def silent(kind: str) -> None:
    """Its host does not do this work in time."""
    Work.objects.filter(kind=kind).update(deadline_at=F("created_at"))
    assert end_overdue() == 1


def is_shelved_no_more(cloud: Cloud, image: Image) -> bool:
    now = cloud.now()
    is_unlinked = (now.shelved_at, now.shelved_image_id) == (None, None)
    return is_unlinked and Image.objects.get(pk=image.pk).status == "deleted"


def test_guest_that_may_run_on_its_host_does_not_leave_it_as_one_that_is_off(cloud: Cloud, settings: Any) -> None:
    offload_after(settings, 60)
    image = cloud.shelve()
    cloud.act("unshelve")
    silent("unshelve")
    assert (cloud.states(), cloud.holds()) == (("error", "", "h1"), HELD)
    Instance.objects.update(shelved_at=F("shelved_at") - timedelta(days=1))
    assert shelved_offload_round() == 0
    assert Image.objects.get(pk=image.pk).status == "active"
    cloud.act("reboot")
    cloud.h1.do(WorkKind.REBOOT)
    assert cloud.states() == ("active", "", "h1")
    assert is_shelved_no_more(cloud, image)


def test_host_that_could_not_start_it_has_it_shelved_as_before(
    cloud: Cloud, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    offload_after(settings, -1)
    image = cloud.shelve()
    cloud.act("unshelve")

    def broken(*_: object, **__: object) -> None:
        raise DriverError("no QEMU")

    monkeypatch.setattr(cloud.h1.fake, "start", broken)
    cloud.h1.do(WorkKind.UNSHELVE)
    assert (cloud.states(), cloud.now().shelved_image_id) == (("shelved", "", "h1"), image.pk)


def test_restored_instance_is_shelved_no_more(cloud: Cloud, settings: Any) -> None:
    offload_after(settings, -1)
    settings.KILONOVA = {**settings.KILONOVA, "RECLAIM_INSTANCE_INTERVAL_S": 3600.0}
    image = cloud.shelve()
    instance_delete(caller=cloud.who.member, instance_id=cloud.instance.pk)
    cloud.h1.do(WorkKind.SOFT_DELETE)
    assert (cloud.states(), Image.objects.get(pk=image.pk).status) == (("soft-delete", "", "h1"), "active")
    cloud.act("restore")
    cloud.h1.do(WorkKind.RESTORE)
    assert cloud.states() == ("active", "", "h1")
    assert is_shelved_no_more(cloud, image)


def test_reset_to_active_ends_the_shelving_and_loses_no_disk(cloud: Cloud, settings: Any) -> None:
    offload_after(settings, -1)
    image = cloud.shelve()
    instance_reset_state(caller=cloud.who.admin, instance_id=cloud.instance.pk, state="active")
    assert cloud.states() == ("active", "", "h1")
    assert is_shelved_no_more(cloud, image)


def test_reset_to_active_keeps_an_image_that_may_be_all_there_is_of_it(cloud: Cloud) -> None:
    image = cloud.offload()
    cloud.off("h1")
    cloud.act("unshelve")
    world.pump()
    silent("unshelve")
    instance_reset_state(caller=cloud.who.admin, instance_id=cloud.instance.pk, state="active")
    now = cloud.now()
    assert (cloud.states(), now.shelved_at, now.shelved_image_id) == (("active", "", "h2"), None, None)
    said = InstanceAction.objects.get(action="reset_state").message
    assert said == f"From error to active. The image that it was kept in stays: {image.pk}."
    assert Image.objects.get(pk=image.pk).status == "active"
    image_delete(caller=cloud.who.member, image_id=image.pk)


def test_reset_to_error_keeps_what_it_is_kept_in(cloud: Cloud, settings: Any) -> None:
    offload_after(settings, -1)
    image = cloud.shelve()
    instance_reset_state(caller=cloud.who.admin, instance_id=cloud.instance.pk, state="error")
    assert (cloud.states(), cloud.now().shelved_image_id) == (("error", "", "h1"), image.pk)


def test_second_shelving_leaves_no_image_of_the_first(cloud: Cloud, settings: Any) -> None:
    offload_after(settings, -1)
    first = cloud.shelve()
    instance_reset_state(caller=cloud.who.admin, instance_id=cloud.instance.pk, state="error")
    cloud.act("stop")
    cloud.h1.do(WorkKind.STOP)
    cloud.act("shelve")
    cloud.h1.do(WorkKind.SHELVE)
    second = Image.objects.exclude(pk=first.pk).get(instance_uuid=cloud.instance.pk)
    assert (cloud.states(), cloud.now().shelved_image_id) == (("shelved", "", "h1"), second.pk)
    assert Image.objects.get(pk=first.pk).status == "deleted"


def test_host_that_stays_silent_keeps_it_in_error(cloud: Cloud) -> None:
    image = cloud.offload()
    cloud.off("h1")
    cloud.act("unshelve")
    world.pump()
    silent("unshelve")
    assert (cloud.states(), cloud.holds()) == (("error", "", "h2"), HELD)
    assert Image.objects.get(pk=image.pk).status == "active"


def test_conductor_cut_off_after_its_claim_claims_once(cloud: Cloud, monkeypatch: Any) -> None:
    from servers.conductor import unshelve as module

    cloud.offload()
    cloud.off("h1")
    cloud.act("unshelve")
    real = module._to_host
    monkeypatch.setattr(module, "_to_host", lambda *_: (_ for _ in ()).throw(RuntimeError("killed")))
    world.pump()
    assert cloud.states() == ("shelved_offloaded", "unshelving", "")
    monkeypatch.setattr(module, "_to_host", real)
    work = Work.objects.get(kind="schedule_unshelve")
    jobs.answer(work.kind, str(work.pk))
    assert (cloud.states(), cloud.holds()) == (("shelved_offloaded", "unshelving", "h2"), HELD)


def when_it_has_claimed(act: Callable[[], object]) -> AbstractContextManager[None]:
    """`act` happens once, between the first claim from now on and the dispatch that follows it."""
    acts = [act]

    def interrupt(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        answer = execute(sql, params, many, context)
        if acts and 'INSERT INTO "scheduling_schedulingdecision"' in sql:
            acts.pop()()
        return answer

    return connection.execute_wrapper(interrupt)


def test_conductor_overtaken_by_one_that_dispatched_leaves_that_ones_claim(cloud: Cloud) -> None:
    cloud.offload()
    cloud.off("h2")
    cloud.act("unshelve")
    work = Work.objects.get(kind="schedule_unshelve")

    def overtake() -> None:
        assert cloud.holds() == HELD
        Work.objects.filter(pk=work.pk).update(lease_until=now_plus(-1))
        Service.objects.filter(host="h1").update(disabled=True)
        Service.objects.filter(host="h2").update(disabled=False)
        # Not as a wake-up is answered: that begins with a connection of its own.
        ((again, lease),) = works_take(work_ids=[str(work.pk)], owner="another")
        unshelve_schedule(again, lease)
        assert (cloud.states(), cloud.holds()) == (("shelved_offloaded", "unshelving", "h2"), HELD)

    with when_it_has_claimed(overtake):
        jobs.answer(work.kind, str(work.pk))
    assert (cloud.states(), cloud.holds()) == (("shelved_offloaded", "unshelving", "h2"), HELD)
    cloud.h2.do(WorkKind.UNSHELVE)
    assert (cloud.states(), cloud.holds()) == (("active", "", "h2"), HELD)


def test_claim_of_one_that_was_deleted_right_after_it_is_freed(cloud: Cloud) -> None:
    cloud.offload()
    cloud.act("unshelve")
    work = Work.objects.get(kind="schedule_unshelve")
    with when_it_has_claimed(lambda: instance_delete(caller=cloud.who.member, instance_id=cloud.instance.pk)):
        jobs.answer(work.kind, str(work.pk))
    assert (cloud.now().deleted_at is not None, cloud.holds()) == (True, {})


def test_deleted_while_a_host_is_chosen_or_builds_it_holds_nothing(cloud: Cloud) -> None:
    cloud.offload()
    cloud.act("unshelve")
    instance_delete(caller=cloud.who.member, instance_id=cloud.instance.pk)
    world.pump()
    assert (cloud.now().deleted_at is not None, cloud.holds()) == (True, {})
    assert not Work.objects.filter(state__in=("waiting", "running")).exists()


def test_task_on_no_host_without_work_leaves_it_shelved(cloud: Cloud) -> None:
    cloud.offload()
    cloud.act("unshelve")
    Work.objects.filter(kind="schedule_unshelve").delete()
    Instance.objects.update(task_since=F("task_since") - timedelta(days=1))
    assert overdue_tasks_heal() == 1
    assert (cloud.states(), cloud.holds()) == (("shelved_offloaded", "", ""), {})


def test_offload_that_is_told_twice_frees_once(cloud: Cloud) -> None:
    cloud.shelve()
    held = cloud.h1.take(WorkKind.SHELVE_OFFLOAD)
    cloud.h1.conductor.action_done(lease=held.lease, facts=world.OFF)
    with pytest.raises(Fenced):
        cloud.h1.conductor.action_done(lease=held.lease, facts=world.OFF)
    assert cloud.holds() == {}


def test_zone_is_kept_and_host_is_for_admins(cloud: Cloud) -> None:
    cloud.offload()
    with pytest.raises(Forbidden):
        cloud.act("unshelve", host="h2")
    for caller, bad in ((cloud.who.admin, {"host": "h9"}), (cloud.who.member, {"availability_zone": "mars"})):
        with pytest.raises(InvalidFields):
            cloud.act("unshelve", caller=caller, **bad)
    with pytest.raises(NotFound):
        cloud.act("unshelve", caller=cloud.who.stranger)
    assert cloud.states() == ("shelved_offloaded", "", "")
    cloud.act("unshelve", caller=cloud.who.admin, host="h2", availability_zone="nova")
    world.pump()
    assert cloud.states() == ("shelved_offloaded", "unshelving", "h2")
    assert RequestSpec.objects.get(instance_uuid=cloud.instance.pk).typed_body.availability_zone == "nova"
