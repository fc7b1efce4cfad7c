import uuid

import pytest
from django.db import transaction
from django.utils import timezone

from controlplane.identity.models import Project
from controlplane.identity.services import project_update, user_quota_reset
from controlplane.kernel.errors import Conflict, Invalid, InvalidFields, NotFound, QuotaExceeded
from servers.catalog.domain.quota import QuotaAmounts
from servers.catalog.selectors.quota import quota_usage
from servers.catalog.selectors.server_group import server_group_for_instance, server_group_get
from servers.catalog.services.keypair import keypair_generate
from servers.catalog.services.quota import quota_count_allowed, quota_lock, user_quota_limit
from servers.catalog.services.server_group import (
    server_group_create,
    server_group_delete,
    server_group_members_add,
)
from servers.models import BuildRequest, Instance, ProjectQuotaLock, ServerGroup, ServerGroupMember
from tests.worlds.cloud import people

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return Project.objects.create(name="p", quota_instances=3, quota_cores=8, quota_ram_mib=4096)


def instance(project: Project, **more) -> Instance:
    fields = {"name": "vm", "user_id": uuid.uuid4(), "flavor": {}, "vcpus": 2, "memory_mib": 512}
    return Instance.objects.create(project_id=project.pk, **{**fields, **more})


def build_request(project: Project, **more) -> BuildRequest:
    fields = {"instance_uuid": uuid.uuid4(), "user_id": uuid.uuid4(), "reservation_id": uuid.uuid4()}
    fields |= {"vcpus": 1, "memory_mib": 100, "instance_body": {}}
    return BuildRequest.objects.create(project=project, **{**fields, **more})


def test_instances_and_build_requests_are_counted(project):
    instance(project)
    build_request(project)
    assert quota_usage(project_id=project.pk) == QuotaAmounts(2, 3, 612)


def test_build_request_whose_instance_exists_is_counted_once(project):
    row = instance(project)
    build_request(project, instance_uuid=row.pk, vcpus=2, memory_mib=512)
    assert quota_usage(project_id=project.pk) == QuotaAmounts(1, 2, 512)


def test_deleted_and_foreign_instances_are_not_counted(project):
    instance(project, deleted_at=timezone.now())
    instance(project, vm_state="soft-delete")
    instance(Project.objects.create(name="other"))
    assert quota_usage(project_id=project.pk) == QuotaAmounts(0, 0, 0)


def test_instances_in_error_are_counted(project):
    instance(project, vm_state="error")
    assert quota_usage(project_id=project.pk).instances == 1


def test_usage_takes_one_query_however_many_there_are(project, django_assert_num_queries):
    for _ in range(20):
        instance(project)
        build_request(project)
    with django_assert_num_queries(1):
        quota_usage(project_id=project.pk)


def test_reaching_the_quota_exactly_is_allowed(project):
    instance(project)
    size = {"vcpus": 3, "memory_mib": (4096 - 512) // 2}
    assert quota_count_allowed(project_id=project.pk, min_count=2, max_count=2, **size) == 2


def test_going_over_names_every_resource_with_numbers(project):
    instance(project)
    with pytest.raises(QuotaExceeded) as refused:
        quota_count_allowed(project_id=project.pk, min_count=3, max_count=3, vcpus=3, memory_mib=1)
    assert refused.value.field == "instances"
    assert (refused.value.extra["requested"], refused.value.extra["used"], refused.value.extra["limit"]) == (3, 1, 3)
    assert [one["resource"] for one in refused.value.extra["over"]] == ["instances", "cores"]


def test_batch_is_cut_to_the_quota(project):
    allowed = quota_count_allowed(project_id=project.pk, min_count=1, max_count=10, vcpus=4, memory_mib=1)
    assert allowed == 2


def test_batch_below_its_least_count_is_refused(project):
    with pytest.raises(QuotaExceeded) as refused:
        quota_count_allowed(project_id=project.pk, min_count=3, max_count=10, vcpus=4, memory_mib=1)
    assert refused.value.field == "cores"
    assert refused.value.extra["requested"] == 12


def test_unlimited_quota_takes_everything(settings):
    settings.KILONOVA = {
        **settings.KILONOVA,
        **{f"DEFAULT_QUOTA_{name}": -1 for name in ("INSTANCES", "CORES", "RAM_MIB")},
    }
    free = Project.objects.create(name="free")
    assert quota_count_allowed(project_id=free.pk, min_count=1, max_count=500, vcpus=64, memory_mib=2**20) == 500


def test_quota_lock_counts_how_often_it_was_taken(project):
    for _ in range(2):
        with transaction.atomic():
            quota_lock(project.pk)
    assert ProjectQuotaLock.objects.get(project=project).taken == 2


@pytest.mark.django_db(transaction=True)
def test_quota_lock_outside_of_a_transaction_is_a_mistake():
    with pytest.raises(transaction.TransactionManagementError):
        quota_lock(uuid.uuid4())


def test_group_belongs_to_the_callers_project():
    who = people()
    made = server_group_create(caller=who.member, name="g", policy="anti-affinity", rules={"max_server_per_host": 2})
    assert server_group_get(caller=who.reader, group_id=made.pk).rules == {"max_server_per_host": 2}
    with pytest.raises(NotFound):
        server_group_get(caller=who.stranger, group_id=made.pk)
    with pytest.raises(NotFound):
        server_group_delete(caller=who.stranger, group_id=made.pk)


def test_hint_with_a_foreign_group_is_refused_even_to_an_admin_of_another_project():
    who = people()
    made = server_group_create(caller=who.stranger, name="g", policy="affinity")
    with pytest.raises(Invalid) as refused:
        server_group_for_instance(caller=who.admin, reference=str(made.pk))
    assert refused.value.field == "hints"


def members_add(*, group_id, instance_uuids):
    group = ServerGroup.objects.filter(pk=group_id).first()
    of = {"project_id": group.project_id if group else uuid.uuid4()}
    server_group_members_add(group_id=group_id, instance_uuids=instance_uuids, **of)


def test_limits_of_project_and_user_count_for_groups_members_and_key_pairs():
    caller = people().member
    project = Project.objects.get(pk=caller.project_id)
    project_update(project=project, quota_server_groups=2, quota_key_pairs=3)
    limits = {"server_groups": 1, "server_group_members": 1, "key_pairs": 1}
    user_quota_limit(project_id=caller.project_id, user_id=caller.user_id, limits=limits, force=False)
    group = server_group_create(caller=caller, name="a", policy="affinity")
    with pytest.raises(QuotaExceeded, match="server_groups: 1 asked for, 1 of 1 in use"):
        server_group_create(caller=caller, name="b", policy="affinity")
    of = {"project_id": caller.project_id, "user_id": caller.user_id}
    with pytest.raises(QuotaExceeded, match="server_group_members: 2 asked for, 0 of 1 in use"):
        server_group_members_add(group_id=group.pk, instance_uuids=[uuid.uuid4(), uuid.uuid4()], **of)
    keypair_generate(name="one", **of)
    with pytest.raises(QuotaExceeded, match="key_pairs: 1 asked for, 1 of 1 in use"):
        keypair_generate(name="two", **of)
    with pytest.raises(InvalidFields) as refused:
        user_quota_limit(project_id=caller.project_id, user_id=caller.user_id, limits={"key_pairs": 0}, force=False)
    assert "the user has 1 already" in str(refused.value.errors["key_pairs"])
    with pytest.raises(InvalidFields) as refused:
        user_quota_limit(project_id=caller.project_id, user_id=caller.user_id, limits={"server_groups": 3}, force=True)
    assert "the project's own limit is 2" in str(refused.value.errors["server_groups"])
    user_quota_reset(project_id=caller.project_id, user_id=caller.user_id)
    server_group_create(caller=caller, name="b", policy="affinity")


def test_groups_beyond_the_limit_are_refused(settings):
    settings.KILONOVA = {**settings.KILONOVA, "DEFAULT_QUOTA_SERVER_GROUPS": 1}
    caller = people().member
    server_group_create(caller=caller, name="a", policy="affinity")
    with pytest.raises(QuotaExceeded, match="server_groups: 1 asked for, 1 of 1 in use"):
        server_group_create(caller=caller, name="b", policy="affinity")
    assert ServerGroup.objects.count() == 1


def test_members_beyond_the_limit_are_refused_all(settings):
    settings.KILONOVA = {**settings.KILONOVA, "DEFAULT_QUOTA_SERVER_GROUP_MEMBERS": 2}
    group = server_group_create(caller=people().member, name="g", policy="affinity")
    members_add(group_id=group.pk, instance_uuids=[uuid.uuid4()])
    with pytest.raises(QuotaExceeded, match="server_group_members: 2 asked for, 1 of 2 in use"):
        members_add(group_id=group.pk, instance_uuids=[uuid.uuid4(), uuid.uuid4()])
    assert ServerGroupMember.objects.count() == 1


def test_instance_joins_only_one_group_and_may_leave_it():
    caller, member = people().member, uuid.uuid4()
    groups = [server_group_create(caller=caller, name=name, policy="affinity") for name in "ab"]
    members_add(group_id=groups[0].pk, instance_uuids=[member])
    with pytest.raises(Conflict):
        members_add(group_id=groups[1].pk, instance_uuids=[member])
    ServerGroupMember.objects.filter(instance_uuid=member).delete()
    members_add(group_id=groups[1].pk, instance_uuids=[member])
    assert groups[1].members.count() == 1


def test_joining_a_group_that_was_deleted_is_refused():
    with pytest.raises(Invalid, match="does not exist"):
        members_add(group_id=uuid.uuid4(), instance_uuids=[uuid.uuid4()])
