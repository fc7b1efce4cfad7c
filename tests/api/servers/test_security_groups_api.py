"""Security groups and rules by the API: who may do what, what is refused and why, what a list costs."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from controlplane.identity.models import Project
from servers.models import HostNetworkState, PortGroup, SecurityGroup, SecurityGroupRule
from servers.networks.services.groups import default_group_ensure
from tests.worlds import networks as world
from tests.worlds.cloud import People, client_of, people

pytestmark = pytest.mark.django_db
GROUPS, RULES = "/api/security-groups/", "/api/security-group-rules/"


@pytest.fixture
def crowd() -> People:
    return people()


def make(caller, name="web") -> dict:
    answer = client_of(caller).post(GROUPS, {"name": name}, format="json")
    assert answer.status_code == 201, answer.content
    return answer.json()


def rule(group: dict, **fields) -> dict:
    return {"group": group["id"], "direction": "ingress", "protocol": "tcp", "port_min": 22, "port_max": 22, **fields}


def test_new_group_lets_everything_out_and_nothing_in(crowd):
    made = make(crowd.member)
    assert sorted(each["sentence"] for each in made["rules"]) == [
        "Lets out everything to anywhere (IPv4).",
        "Lets out everything to anywhere (IPv6).",
    ]


def test_default_group_is_there_once_and_lets_its_own_ports_in(crowd):
    one = default_group_ensure(project_id=crowd.member.project_id)
    assert default_group_ensure(project_id=crowd.member.project_id).pk == one.pk
    shown = client_of(crowd.reader).get(f"{GROUPS}{one.pk}/").json()
    assert shown["is_default"]
    assert sorted(each["sentence"] for each in shown["rules"]) == [
        "Lets in everything from the group default (IPv4).",
        "Lets in everything from the group default (IPv6).",
        "Lets out everything to anywhere (IPv4).",
        "Lets out everything to anywhere (IPv6).",
    ]


def test_members_write_readers_read_and_strangers_see_nothing(crowd):
    made = make(crowd.member)
    at = f"{GROUPS}{made['id']}/"
    reader, stranger, admin = client_of(crowd.reader), client_of(crowd.stranger), client_of(crowd.admin)
    assert reader.get(at).status_code == 200
    for client, status in ((reader, 403), (stranger, 404)):
        assert client.patch(at, {"name": "x"}, format="json").status_code == status
        assert client.delete(at).status_code == status
        assert client.post(RULES, rule(made), format="json").status_code == status
    assert stranger.get(at).status_code == 404
    assert [each["name"] for each in stranger.get(GROUPS).json()["results"]] == ["default"], "its project's own"
    assert reader.post(GROUPS, {"name": "no"}, format="json").status_code == 403
    added = admin.post(RULES, rule(made), format="json").json()
    rule_at = f"{RULES}{added['id']}/"
    assert (reader.get(rule_at).status_code, stranger.get(rule_at).status_code) == (200, 404)
    assert (reader.delete(rule_at).status_code, stranger.delete(rule_at).status_code) == (403, 404)
    assert SecurityGroupRule.objects.filter(pk=added["id"]).exists()
    assert admin.patch(at, {"description": "all of it"}, format="json").json()["description"] == "all of it"
    assert client_of(crowd.member).delete(at).status_code == 204


def test_no_group_has_two_rules_that_say_the_same(crowd):
    client, made = client_of(crowd.member), make(crowd.member)
    first = client.post(RULES, rule(made, remote_cidr="10.1.2.3/8"), format="json")
    assert first.json()["remote_cidr"] == "10.0.0.0/8"
    again = client.post(RULES, rule(made, protocol="6", remote_cidr="10.0.0.0/8"), format="json")
    error = again.json()["error"]
    assert (again.status_code, error["code"], error["rule_id"]) == (
        409,
        "security_group_rule_exists",
        first.json()["id"],
    )
    assert "Lets in TCP port 22 from 10.0.0.0/8." in error["message"]


def test_refused_rule_names_field_and_reason(crowd):
    client, made = client_of(crowd.member), make(crowd.member)
    foreign = make(crowd.stranger, "theirs")
    bad = [
        (rule(made, protocol="tpc"), "protocol"),
        (rule(made, port_min=23), "port_min"),
        (rule(made, remote_cidr="10.0.0.0/40"), "remote_cidr"),
        (rule(made, remote_group=foreign["id"]), "remote_group"),
        (rule(made, ports=22), "ports"),
    ]
    for body, field in bad:
        answer = client.post(RULES, body, format="json")
        assert (answer.status_code, field in answer.json()["error"]["reasons"]) == (400, True), answer.content
    assert client.post(RULES, rule({"id": str(uuid.uuid4())}), format="json").status_code == 404


def test_group_in_use_stays_and_says_how_many_ports(crowd):
    client, made = client_of(crowd.member), make(crowd.member)
    net = world.network()
    group = SecurityGroup.objects.get(pk=made["id"])
    ports = [world.port(net, "hv1", groups=[group]) for _ in range(2)]
    answer = client.delete(f"{GROUPS}{made['id']}/")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["ports"]) == (409, "security_group_in_use", 2)
    PortGroup.objects.filter(port__in=ports).delete()
    assert client.delete(f"{GROUPS}{made['id']}/").status_code == 204


def test_default_group_keeps_its_name_and_stays(crowd):
    client = client_of(crowd.member)
    at = f"{GROUPS}{default_group_ensure(project_id=crowd.member.project_id).pk}/"
    assert client.patch(at, {"name": "mine"}, format="json").status_code == 409
    assert client.delete(at).status_code == 409
    assert client.post(GROUPS, {"name": "default"}, format="json").status_code == 409
    assert client.patch(at, {"description": "ours"}, format="json").status_code == 200


def test_hosts_are_told_of_rules_that_come_and_go(crowd):
    client, made = client_of(crowd.member), make(crowd.member)
    world.port(world.network(), "hv1", groups=[SecurityGroup.objects.get(pk=made["id"])])

    def revision() -> int:
        row = HostNetworkState.objects.filter(host="hv1").first()
        return row.wanted_revision if row else 0

    before = revision()
    added = client.post(RULES, rule(made), format="json").json()
    between = revision()
    client.delete(f"{RULES}{added['id']}/")
    assert before < between < revision()


def test_lists_narrow_and_cost_the_same_for_many(crowd):
    client = client_of(crowd.admin)
    one = make(crowd.member)
    stranger, theirs = client_of(crowd.stranger), SecurityGroup.objects.filter(project_id=crowd.stranger.project_id)
    assert stranger.get(GROUPS, {"name": "web"}).json()["count"] == 0
    assert not theirs.exists(), "it is not what was asked for"
    assert stranger.get(GROUPS, {"name": "default"}).json()["results"][0]["id"] == str(theirs.get().pk)
    with CaptureQueriesContext(connection) as few:
        client.get(GROUPS)
    for number in range(5):
        made = make(crowd.member, f"more-{number}")
        client.post(RULES, rule(made, remote_group=one["id"]), format="json")
    with CaptureQueriesContext(connection) as many:
        listed = client.get(GROUPS, {"search": "more"}).json()
    assert (listed["count"], len(many)) == (5, len(few))
    assert client.get(RULES, {"remote_group": one["id"]}).json()["count"] == 5
    others = client.get(GROUPS, {"project": Project.objects.get(name="other").pk}).json()["results"]
    assert [each["name"] for each in others] == ["default"]


def test_quota_of_groups_and_rules_is_kept_with_numbers(crowd):
    client, project = client_of(crowd.member), Project.objects.filter(pk=crowd.member.project_id)
    made = make(crowd.member)
    project.update(quota_security_groups=2, quota_security_group_rules=6)
    refused = client.post(GROUPS, {"name": "one more"}, format="json").json()["error"]
    assert (refused["code"], refused["field"], refused["used"], refused["limit"]) == (
        "quota_exceeded",
        "security_groups",
        2,
        2,
    )
    refused = client.post(RULES, rule(made), format="json").json()["error"]
    assert (refused["code"], refused["field"], refused["used"]) == ("quota_exceeded", "security_group_rules", 6)
