"""Whatever users, hosts and instances do to volumes, in any order: states follow the table, claims are the sizes, quota
and pool are never exceeded, and the audit finds nothing.
"""

import uuid
from contextlib import suppress

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from computeagent.protocol.volumes import PoolAbility, VolumeSourceKind
from controlplane.identity.models import Project
from controlplane.kernel.errors import Conflict, Forbidden, Invalid, NoCapacity, NotFound
from controlplane.work.models import Work
from controlplane.work.models.work import OPEN_STATES
from servers.models import Volume, VolumeAttachment, VolumeSnapshot
from servers.repair.services.audit import audit_findings
from servers.volumes.domain.attachments import AttachmentRequest
from servers.volumes.domain.states import VolumeState
from servers.volumes.domain.transitions import VOLUME_TRANSITIONS
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.selectors.quota import volume_quota_usage
from servers.volumes.services.attachments import attachment_release, attachments_activate, volumes_reserve
from servers.volumes.services.snapshots import SnapshotRequest, snapshot_create, snapshot_delete
from servers.volumes.services.transfers import transfer_create, transfer_delete
from servers.volumes.services.volumes import volume_create, volume_delete, volume_extend, volume_revert
from tests.worlds.volumes import promised, small_cloud, storage_pool, work_done, work_failed

pytestmark = [pytest.mark.django_db, pytest.mark.long]
REFUSALS = (Conflict, Invalid, Forbidden, NoCapacity, NotFound)
QUOTA_GIB, POOL_GIB = 14, 12
ABILITIES = tuple(one for one in PoolAbility if one is not PoolAbility.CLONE)
sizes, picks = st.integers(1, 7), st.integers(0, 5)


class Volumes(RuleBasedStateMachine):
    """Users ask, hosts end, instances come and go. What is refused changes nothing, which the invariants see."""

    @initialize()
    def world(self) -> None:
        self.around = transaction.atomic()
        self.around.__enter__()
        self.people = small_cloud("h1")
        Project.objects.filter(pk=self.people.member.project_id).update(quota_volumes=5, quota_volume_gib=QUOTA_GIB)
        self.pool = storage_pool("shared", "h1", total_gib=POOL_GIB, abilities=ABILITIES)
        self.before: dict[uuid.UUID, str] = {}

    def teardown(self) -> None:
        if hasattr(self, "around"):
            transaction.set_rollback(True)
            self.around.__exit__(None, None, None)

    def volume(self, pick: int) -> uuid.UUID:
        found = list(Volume.objects.order_by("created_at").values_list("pk", flat=True))
        return found[pick % len(found)] if found else uuid.uuid4()

    def snapshot(self, pick: int) -> tuple[uuid.UUID, uuid.UUID]:
        found = list(VolumeSnapshot.objects.order_by("created_at").values_list("pk", "volume_id"))
        return found[pick % len(found)] if found else (uuid.uuid4(), uuid.uuid4())

    @rule(size=sizes)
    def create(self, size: int) -> None:
        with suppress(*REFUSALS), transaction.atomic():
            volume_create(caller=self.people.member, request=VolumeRequest(size_gib=size))

    @rule(pick=picks, kind=st.sampled_from([VolumeSourceKind.VOLUME, VolumeSourceKind.SNAPSHOT]))
    def copy(self, pick: int, kind: VolumeSourceKind) -> None:
        source = self.volume(pick) if kind is VolumeSourceKind.VOLUME else self.snapshot(pick)[0]
        with suppress(*REFUSALS), transaction.atomic():
            volume_create(caller=self.people.member, request=VolumeRequest(source_kind=kind, source_id=source))

    @rule(pick=picks, size=sizes)
    def extend(self, pick: int, size: int) -> None:
        with suppress(*REFUSALS), transaction.atomic():
            volume_extend(caller=self.people.member, volume_id=self.volume(pick), size_gib=size)

    @rule(pick=picks)
    def take_snapshot(self, pick: int) -> None:
        with suppress(*REFUSALS), transaction.atomic():
            snapshot_create(caller=self.people.member, request=SnapshotRequest(self.volume(pick)))

    @rule(pick=picks)
    def revert(self, pick: int) -> None:
        snapshot, of = self.snapshot(pick)
        with suppress(*REFUSALS), transaction.atomic():
            volume_revert(caller=self.people.member, volume_id=of, snapshot_id=snapshot)

    @rule(pick=picks, is_whole=st.booleans())
    def delete(self, pick: int, is_whole: bool) -> None:
        with suppress(*REFUSALS), transaction.atomic():
            volume_delete(caller=self.people.member, volume_id=self.volume(pick), with_snapshots=is_whole)

    @rule(pick=picks)
    def delete_snapshot(self, pick: int) -> None:
        with suppress(*REFUSALS), transaction.atomic():
            snapshot_delete(caller=self.people.member, snapshot_id=self.snapshot(pick)[0])

    @rule(pick=picks)
    def attach(self, pick: int) -> None:
        project, instance = self.people.member.project_id, uuid.uuid4()
        with suppress(*REFUSALS), transaction.atomic():
            volumes_reserve(project_id=project, instance_uuid=instance, wanted=[AttachmentRequest(self.volume(pick))])
            attachments_activate(instance_uuid=instance)

    @rule(pick=picks)
    def detach(self, pick: int) -> None:
        for one in VolumeAttachment.objects.filter(volume=self.volume(pick)):
            attachment_release(attachment_id=one.pk)

    @rule(pick=picks)
    def offer_and_take_back(self, pick: int) -> None:
        with suppress(*REFUSALS), transaction.atomic():
            offer = transfer_create(caller=self.people.member, volume_id=self.volume(pick))
            transfer_delete(caller=self.people.member, transfer_id=offer.transfer.pk)

    @rule(pick=picks, is_done=st.sampled_from([True, True, False]))
    def host_ends_some_work(self, pick: int, is_done: bool) -> None:
        waiting = list(Work.objects.filter(state__in=OPEN_STATES).order_by("created_at"))
        if waiting:
            (work_done if is_done else work_failed)(waiting[pick % len(waiting)].subject)

    @invariant()
    def states_follow_the_table(self) -> None:
        if not hasattr(self, "before"):
            return
        now = dict(Volume.objects.values_list("pk", "state"))
        for pk, state in now.items():
            before = VolumeState(self.before.get(pk, VolumeState.CREATING))
            assert state == before or VolumeState(state) in VOLUME_TRANSITIONS[before], (before, state)
        for pk in self.before.keys() - now.keys():
            assert self.before[pk] == VolumeState.DELETING
        self.before = now

    @invariant()
    def claims_are_sizes_within_quota_and_pool(self) -> None:
        if not hasattr(self, "before"):
            return
        volumes = Volume.objects.values_list("size_gib", "wanted_gib")
        snapshots = VolumeSnapshot.objects.exclude(state="error").values_list("size_gib", "state", "fault")
        made = sum(max(pair) for pair in volumes)
        # One that failed, or was given up, may have given its claim back before its row goes.
        held = promised(self.pool) - made
        assert held <= sum(size for size, _, _ in snapshots)
        assert promised(self.pool) <= POOL_GIB
        used = volume_quota_usage(project_id=self.people.member.project_id)
        assert used["volumes"] <= 5
        assert used["volume_gib"] <= QUOTA_GIB
        assert audit_findings() == []


def test_volumes_keep_their_rules_whatever_happens(db):
    run_state_machine_as_test(
        Volumes,
        settings=settings(
            stateful_step_count=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
        ),
    )
