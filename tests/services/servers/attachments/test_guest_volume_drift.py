"""Volumes that guests have and instances do not, and the other way round: noted by the power sync, listed as drift."""

import uuid
from datetime import timedelta

import pytest
from django.db.models import F

from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.power import PowerState
from controlplane.work.models import Heal, Work
from servers.models import DriftSighting, Instance, VolumeAttachment
from servers.repair.domain.drift import DriftKind
from servers.repair.selectors.guest_volume_drift import guest_volume_drifts
from servers.repair.services.audit import audit_findings
from servers.repair.services.drift import LOOKS, guest_drift_round
from servers.repair.services.power_sync import power_states_sync
from tests.services.servers.attachments.attached_cloud import Cloud

pytestmark = pytest.mark.django_db(transaction=True)


def sync(cloud: Cloud, volumes: tuple[str, ...] | None, state: PowerState = PowerState.RUNNING) -> list[str]:
    power_states_sync(host="h1", guests={cloud.vm.pk: GuestFacts(state, volumes=volumes)})
    return sorted(one.kind.value for one in guest_volume_drifts())


def test_guest_without_its_volume_is_noted_until_it_has_it(cloud: Cloud) -> None:
    cloud.attached()
    mine = str(cloud.volume.pk)
    assert sync(cloud, (mine,)) == []
    assert sync(cloud, None) == []  # an older agent does not look
    assert sync(cloud, ()) == ["volume_not_in_guest"]
    assert "after its next start" in VolumeAttachment.objects.get().problem
    assert cloud.states() == ("in-use", "attached", "")
    assert sync(cloud, (), PowerState.SHUTDOWN) == ["volume_not_in_guest"]  # nobody looked: it stands
    Instance.objects.update(vm_state="active", power_state="running", task_state="")
    assert sync(cloud, (mine,)) == []
    assert VolumeAttachment.objects.get().problem == ""


def test_volume_that_nobody_attached_is_noted_until_the_guest_has_lost_it(cloud: Cloud) -> None:
    stray = str(uuid.uuid4())
    assert sync(cloud, (stray, "no uuid")) == ["volume_in_guest_only"]
    assert Instance.objects.get(pk=cloud.vm.pk).stray_volumes == [stray]
    assert sync(cloud, ()) == []


def test_guest_that_is_asked_for_its_volume_is_left_alone(cloud: Cloud) -> None:
    cloud.act("attach_volume", volume="data")
    assert sync(cloud, ()) == []


def test_agent_says_what_a_guest_really_has(cloud: Cloud) -> None:
    cloud.attached()
    facts = cloud.h1.context.driver.facts(str(cloud.vm.pk))
    assert facts is not None and facts.volumes == (str(cloud.volume.pk),)


def work_lost(cloud: Cloud) -> None:
    """The work, and the task, went without what follows from them."""
    Work.objects.all().delete()
    Instance.objects.update(task_state="", vm_state="active", power_state="running")


def ended(cloud: Cloud) -> VolumeAttachment:
    """What a round makes of it, once it has stood for a while."""
    assert guest_drift_round() == 0
    assert DriftSighting.objects.get().kind == DriftKind.ATTACHMENT_STUCK
    VolumeAttachment.objects.update(updated_at=F("updated_at") - timedelta(hours=1))
    assert [one.message for one in audit_findings() if "nobody works" in one.message]
    DriftSighting.objects.all().delete()
    assert guest_drift_round() == 1
    assert Heal.objects.get().kind == DriftKind.ATTACHMENT_STUCK
    assert guest_drift_round() == 0  # once
    return VolumeAttachment.objects.get()


def test_attaching_that_nobody_works_on_is_ended_and_the_guest_says_what_it_has(cloud: Cloud) -> None:
    cloud.act("attach_volume", volume="data")
    guest_drift_round()
    assert not DriftSighting.objects.filter(kind=DriftKind.ATTACHMENT_STUCK).exists()  # its work is open
    work_lost(cloud)
    row = ended(cloud)
    assert (row.state, cloud.states()) == ("error", ("in-use", "error", ""))
    assert "did not say whether the guest got the disk" in row.problem
    sync(cloud, ())
    assert VolumeAttachment.objects.get().state == "error"
    sync(cloud, (str(cloud.volume.pk),))
    row.refresh_from_db()
    assert (row.state, row.problem) == ("attached", "")


def test_detaching_that_nobody_works_on_leaves_the_volume_where_the_guest_has_it(cloud: Cloud) -> None:
    cloud.attached()
    cloud.act("detach_volume", volume="data")
    work_lost(cloud)
    row = ended(cloud)
    assert (row.state, cloud.states()) == ("attached", ("in-use", "attached", ""))
    assert "did not say whether the guest lost the disk" in row.problem
    sync(cloud, (str(cloud.volume.pk),))
    assert VolumeAttachment.objects.get().problem == "It was to be detached, and the guest has it still."
    sync(cloud, ())
    guest_drift_round()
    assert DriftSighting.objects.filter(kind=DriftKind.VOLUME_NOT_IN_GUEST).exists()
    cloud.act("detach_volume", volume="data")


def test_on_no_host_no_guest_has_it(cloud: Cloud) -> None:
    cloud.attached()
    cloud.act("detach_volume", volume="data")
    work_lost(cloud)
    Instance.objects.update(host="", vm_state="shelved_offloaded", power_state="shutdown")
    VolumeAttachment.objects.update(updated_at=F("updated_at") - timedelta(hours=1))
    assert guest_drift_round() == 1
    assert cloud.states() == ("available", "", "")


def test_every_kind_of_drift_is_looked_for() -> None:
    says_of_others = {DriftKind.MORE_OF_HOST}
    assert frozenset().union(*LOOKS.values()) == frozenset(DriftKind) - says_of_others
