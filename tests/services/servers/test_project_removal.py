"""A project goes when nothing is in it any more; else the refusal says what is, with numbers."""

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from controlplane.identity.domain import Role
from controlplane.identity.models import Project, RoleAssignment, User
from controlplane.identity.services import project_delete, role_grant
from controlplane.identity.services.project_removal import ProjectInUse
from controlplane.kernel.errors import Conflict, NotFound
from servers.models import Image, Instance, InstanceAction, InstanceMapping, Network, SecurityGroup
from servers.networks.services.groups import default_group_ensure, security_group_create
from tests.worlds import cloud
from tests.worlds import networks as world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project() -> Project:
    made = Project.objects.create(name="tenant")
    default_group_ensure(project_id=made.pk)
    return made


def test_its_default_group_goes_with_it(project: Project) -> None:
    project_delete(project_id=project.pk)
    assert not Project.objects.filter(pk=project.pk).exists()
    assert not SecurityGroup.objects.exists()
    with pytest.raises(NotFound):
        project_delete(project_id=project.pk)


def test_what_is_in_the_way_is_said_with_numbers_and_nothing_goes(project: Project) -> None:
    net = world.network("blue", project=project)
    world.network("red", project=project)
    world.port(net, project=project, groups=[SecurityGroup.objects.get()])
    security_group_create(caller=None, name="web", project_id=project.pk)
    with pytest.raises(ProjectInUse) as refused:
        project_delete(project_id=project.pk)
    assert refused.value.message == "Project tenant still has 2 networks, 1 port, 2 security groups."
    assert refused.value.extra["contents"] == {"port": 1, "networks": 2, "security groups": 2}
    assert SecurityGroup.objects.filter(is_default=True).exists()


def test_instances_are_in_the_way_and_records_of_deleted_ones_go_with_the_project() -> None:
    who = cloud.cloud("h1")
    role_grant(user=User.objects.get(username="root"), project=Project.objects.create(name="x"), role=Role.ADMIN)
    instance = cloud.active(who.member)
    with pytest.raises(ProjectInUse, match=r"1 instance\."):
        project_delete(project_id=who.member.project_id)
    Instance.objects.filter(pk=instance.pk).update(deleted_at=Now())
    Image.objects.create(name="gone", project_id=who.member.project_id, status="deleted", deleted_at=Now())
    project_delete(project_id=who.member.project_id)
    of_it = {"instance_uuid": instance.pk}
    assert not (Instance.objects.exists() or InstanceMapping.objects.filter(**of_it).exists())
    assert not InstanceAction.objects.filter(**of_it).exists()


def test_the_only_project_of_administrators_stays() -> None:
    who = cloud.people()
    of_admins = RoleAssignment.objects.filter(role="admin").exclude(project=who.admin.project_id)
    of_admins.delete()
    with pytest.raises(Conflict, match="in no other one is anybody an administrator"):
        project_delete(project_id=who.admin.project_id)


def test_by_the_api_it_is_for_administrators(project: Project) -> None:
    who = cloud.people()
    world.network("blue", project=project)
    path = f"/api/projects/{project.pk}/"
    for caller in (who.member, who.reader, who.stranger):
        assert cloud.client_of(caller).delete(path).status_code == 403
    admin = cloud.client_of(who.admin)
    refused = admin.delete(path)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "project_in_use")
    assert refused.json()["error"]["contents"] == {"network": 1}
    project_free(project)
    assert admin.delete(path).status_code == 204


def test_in_the_admin_the_refusal_is_shown(project: Project, client: Client) -> None:
    client.force_login(User.objects.create_superuser(username="super", password="x"))
    world.network("blue", project=project)
    path = reverse("admin:identity_project_delete", args=[project.pk])
    said = client.post(path, {"post": "yes"}, follow=True).content.decode()
    assert "Project tenant still has 1 network." in said
    project_free(project)
    client.post(path, {"post": "yes"})
    assert not Project.objects.filter(pk=project.pk).exists()


def project_free(project: Project) -> None:
    """Nothing is in it any more that somebody made."""
    net = Network.objects.get(project=project)
    net.subnets.all().delete()
    net.delete()
