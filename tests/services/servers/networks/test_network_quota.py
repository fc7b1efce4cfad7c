"""What a project may have of networks, and that ports in batches are held to it."""

import uuid

import pytest
from django.db import transaction

from controlplane.identity.models import Project
from controlplane.kernel.errors import InvalidFields, NotFound, QuotaExceeded
from servers.models import Port, ProjectQuotaLock, SecurityGroup, SecurityGroupRule
from servers.networks.selectors.quota import network_quota_state, network_quota_usage
from servers.networks.services.ports import ports_create
from servers.networks.services.quota import network_quota_check, network_quota_limit
from tests.worlds.ports import asked, network, subnet

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return Project.objects.create(name="p", quota_ports=3, quota_networks=1)


def test_batch_that_goes_over_is_refused_whole_with_numbers(project):
    net = network(project_id=project.pk)
    ports_create(caller=None, requests=[asked(net, project.pk)])
    with pytest.raises(QuotaExceeded) as refused:
        ports_create(caller=None, requests=[asked(net, project.pk) for _ in range(3)])
    assert (refused.value.field, refused.value.extra["requested"], refused.value.extra["used"]) == ("ports", 3, 1)
    assert Port.objects.count() == 1
    ports_create(caller=None, requests=[asked(net, project.pk) for _ in range(2)])


def test_ports_of_the_installation_and_of_others_are_not_counted(project):
    net = network(project_id=project.pk)
    other = Project.objects.create(name="other")
    ports_create(caller=None, requests=[asked(net) for _ in range(4)] + [asked(net, other.pk)])
    assert network_quota_usage(project_id=project.pk)["ports"] == 0
    ports_create(caller=None, requests=[asked(net, project.pk) for _ in range(3)])


def test_everything_is_counted_in_one_query(project, django_assert_num_queries):
    subnet(network(project_id=project.pk))
    group = SecurityGroup.objects.create(project=project, name="g")
    for number in range(2):
        SecurityGroupRule.objects.create(group=group, direction="ingress", rule_key=str(number))
    with django_assert_num_queries(1):
        used = network_quota_usage(project_id=project.pk)
    assert used == {
        "networks": 1,
        "subnets": 1,
        "ports": 0,
        "routers": 0,
        "floating_ips": 0,
        "security_groups": 1,
        "security_group_rules": 2,
    }


def test_defaults_are_those_of_neutron(project):
    found = {line.label: line.limit for line in network_quota_state(project_id=Project.objects.create(name="q").pk)}
    assert found == {
        "Networks": 100,
        "Subnets": 100,
        "Ports": 500,
        "Routers": 10,
        "Floating addresses": 50,
        "Security groups": 10,
        "Security group rules": 100,
    }


def test_check_holds_the_lock_of_the_project_and_asks_for_what_is_wanted(project):
    with transaction.atomic():
        network_quota_check(project_id=project.pk, wanted={"networks": 1, "routers": 0})
        network_quota_check(project_id=None, wanted={"networks": 100})
    assert ProjectQuotaLock.objects.get(project=project).taken == 1
    network(project_id=project.pk)
    with transaction.atomic(), pytest.raises(QuotaExceeded, match="networks: 1 asked for, 1 of 1 in use"):
        network_quota_check(project_id=project.pk, wanted={"networks": 1, "subnets": 2})


def test_limits_are_set_and_taken_back_and_held_to_what_is_in_use_where_asked_for(project):
    network(project_id=project.pk)
    network(project_id=project.pk)
    with pytest.raises(InvalidFields) as refused:
        network_quota_limit(project_id=project.pk, limits={"networks": 1, "ports": 9}, checks_use=True)
    assert refused.value.errors == {"networks": ["Is 1; the project has 2 already."]}
    network_quota_limit(project_id=project.pk, limits={"networks": -1, "ports": 0, "subnets": None}, checks_use=True)
    project.refresh_from_db()
    assert (project.quota_networks, project.quota_ports, project.quota_subnets) == (-1, 0, None)
    network_quota_limit(project_id=project.pk, limits={"networks": 1}, checks_use=False)
    project.refresh_from_db()
    assert project.quota_networks == 1
    with pytest.raises(NotFound):
        network_quota_limit(project_id=uuid.uuid4(), limits={}, checks_use=False)
