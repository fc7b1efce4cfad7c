"""What a project may have of volumes, counted as Cinder counts it."""

import pytest
from django.db import transaction

from controlplane.identity.models import Project
from controlplane.kernel.errors import QuotaExceeded
from servers.models import ProjectQuotaLock, VolumeBackup
from servers.volumes.selectors.quota import volume_quota_state, volume_quota_usage
from servers.volumes.services.quota import volumes_quota_require
from tests.worlds.volumes import snapshot_row, volume_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return Project.objects.create(name="p", quota_volumes=2, quota_volume_gib=20)


def test_everything_is_counted_in_one_query(project, django_assert_num_queries):
    volume = volume_row(project, size_gib=5)
    snapshot_row(volume)
    volume_row(project, size_gib=1, wanted_gib=3)
    volume_row(Project.objects.create(name="other"), size_gib=100)
    VolumeBackup.objects.create(volume_id=volume.pk, project=project, user_id=volume.user_id, size_gib=5)
    with django_assert_num_queries(1):
        used = volume_quota_usage(project_id=project.pk)
    assert used == {
        "volumes": 2,
        "volume_gib": 13,
        "volume_snapshots": 1,
        "volume_backups": 1,
        "volume_backup_gib": 5,
    }


def test_defaults_are_those_of_cinder():
    found = {line.label: line.limit for line in volume_quota_state(project_id=Project.objects.create(name="q").pk)}
    assert found == {
        "Volumes": 10,
        "Volumes and snapshots": 1000,
        "Volume snapshots": 10,
        "Volume backups": 10,
        "Backed-up volumes": 1000,
    }


def test_what_goes_over_is_refused_with_all_numbers_under_the_projects_lock(project):
    volume_row(project, size_gib=15)
    with transaction.atomic():
        volumes_quota_require(project_id=project.pk, volumes=1, gib=5)
        volumes_quota_require(project_id=project.pk)
    assert ProjectQuotaLock.objects.get(project=project).taken == 1
    with transaction.atomic(), pytest.raises(QuotaExceeded) as refused:
        volumes_quota_require(project_id=project.pk, volumes=2, gib=6)
    assert [(one["resource"], one["used"], one["limit"]) for one in refused.value.extra["over"]] == [
        ("volumes", 1, 2),
        ("volume_gib", 15, 20),
    ]
