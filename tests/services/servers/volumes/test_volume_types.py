"""Types: made, changed while volumes are of them, given to projects, and removed."""

import pytest

from controlplane.identity.models import Project
from controlplane.kernel.errors import InvalidFields, NotFound
from servers.models import VolumeType, VolumeTypeAccess
from servers.volumes.domain.errors import (
    VolumeTypeAccessPublic,
    VolumeTypeDefault,
    VolumeTypeExists,
    VolumeTypeInUse,
    VolumeTypeNotFound,
)
from servers.volumes.domain.volume_types import VolumeTypeRequest
from servers.volumes.selectors.volume_types import volume_type_default, volume_type_named, volume_types_visible
from servers.volumes.services.types import (
    volume_type_access_add,
    volume_type_access_remove,
    volume_type_create,
    volume_type_delete,
    volume_type_update,
)
from tests.worlds.volumes import caller_in, volume_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return Project.objects.create(name="p")


def test_second_default_takes_the_place_of_the_first():
    first = volume_type_create(request=VolumeTypeRequest(name="first", is_default=True))
    second = volume_type_create(request=VolumeTypeRequest(name="second", is_default=True))
    assert volume_type_default() == second
    volume_type_update(type_id=first.pk, changes={"is_default": True})
    assert volume_type_default() == first
    with pytest.raises(VolumeTypeDefault):
        volume_type_update(type_id=first.pk, changes={"is_default": False})
    with pytest.raises(VolumeTypeDefault):
        volume_type_delete(type_id=first.pk)
    volume_type_delete(type_id=second.pk)


def test_name_is_one_types_only():
    volume_type_create(request=VolumeTypeRequest(name="fast"))
    other = volume_type_create(request=VolumeTypeRequest(name="slow"))
    with pytest.raises(VolumeTypeExists):
        volume_type_create(request=VolumeTypeRequest(name="fast"))
    with pytest.raises(VolumeTypeExists):
        volume_type_update(type_id=other.pk, changes={"name": "fast"})
    assert VolumeType.objects.count() == 2


def test_change_is_judged_as_the_type_will_be():
    row = volume_type_create(request=VolumeTypeRequest(name="t", min_gib=5, kinds=("rbd",)))
    with pytest.raises(InvalidFields):
        volume_type_update(type_id=row.pk, changes={"max_gib": 4})
    with pytest.raises(InvalidFields):
        volume_type_update(type_id=row.pk, changes={"extra_specs": {}})
    after = volume_type_update(type_id=row.pk, changes={"max_gib": 6, "qos": {"total_iops": 5}, "kinds": ["file"]})
    assert (after.min_gib, after.max_gib, after.qos, after.kinds) == (5, 6, {"total_iops": 5}, ["file"])


def test_type_with_volumes_stays_what_they_are(project):
    row = volume_type_create(request=VolumeTypeRequest(name="t"))
    volume_row(project, volume_type=row)
    with pytest.raises(VolumeTypeInUse) as refused:
        volume_type_update(type_id=row.pk, changes={"is_encrypted": True})
    assert refused.value.extra["volumes"] == 1
    volume_type_update(type_id=row.pk, changes={"description": "d", "qos": {"read_iops": 1}})
    with pytest.raises(VolumeTypeInUse):
        volume_type_delete(type_id=row.pk)


def test_private_type_is_for_those_projects_that_were_given_it(project):
    row = volume_type_create(request=VolumeTypeRequest(name="t", is_public=False))
    caller = caller_in(project)
    with pytest.raises(VolumeTypeNotFound):
        volume_type_named(caller=caller, reference="t")
    volume_type_access_add(type_id=row.pk, project_id=project.pk)
    volume_type_access_add(type_id=row.pk, project_id=project.pk)
    assert VolumeTypeAccess.objects.count() == 1
    assert volume_type_named(caller=caller, reference=str(row.pk)) == row
    assert list(volume_types_visible(caller_in(Project.objects.create(name="q")))) == []
    volume_type_access_remove(type_id=row.pk, project_id=project.pk)
    assert list(volume_types_visible(caller)) == []
    with pytest.raises(NotFound):
        volume_type_access_add(type_id=row.pk, project_id=row.pk)


def test_public_type_has_no_access_to_give(project):
    row = volume_type_create(request=VolumeTypeRequest(name="t"))
    with pytest.raises(VolumeTypeAccessPublic):
        volume_type_access_add(type_id=row.pk, project_id=project.pk)
