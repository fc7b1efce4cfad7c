"""Security groups: rules as sentences, presets, refusals at their fields, and what each person may do."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.identity.domain import Caller
from controlplane.identity.models import Project
from servers.models import SecurityGroup, SecurityGroupRule
from servers.networks.services.groups import security_group_create
from tests.worlds import networks as world
from tests.worlds.cloud import People

AsPerson = Callable[[Caller], Client]
RULE = {"preset": "ssh", "direction": "ingress", "version": "both"}
PERSONS = ("admin", "member", "reader", "stranger")


@pytest.fixture
def web(people: People) -> SecurityGroup:
    return security_group_create(caller=people.member, name="web", description="Front ends")


def sentences(client: Client, group: SecurityGroup) -> str:
    return client.get(f"/security-groups/{group.pk}/").text


def test_a_group_is_made_and_a_preset_lets_in_ssh_of_both_versions(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)

    made = client.post("/security-groups/new/", {"name": "web", "description": "Front ends"})
    group = SecurityGroup.objects.get(name="web")
    added = client.post(f"/security-groups/{group.pk}/rules/", RULE)

    address = f"/security-groups/{group.pk}/"
    assert (made.status_code, made.headers["Location"], added.headers["Location"]) == (302, address, address)
    page = sentences(client, group)
    assert "Lets in TCP port 22 from anywhere (IPv4)." in page
    assert "Lets in TCP port 22 from anywhere (IPv6)." in page
    assert "Lets out everything to anywhere (IPv4)." in page
    assert "Nobody reaches its instances" not in page


def test_an_address_says_its_version_and_a_range_of_ports_is_spelled_out(
    people: People, as_person: AsPerson, web: SecurityGroup
) -> None:
    client = as_person(people.member)
    ranges = {**RULE, "preset": "other", "protocol": "udp", "ports": "8000-8100", "remote_cidr": "10.9.0.0/16"}
    client.post(f"/security-groups/{web.pk}/rules/", ranges)
    one = {**RULE, "preset": "other", "protocol": "tcp", "ports": "8080", "remote_cidr": "2001:db8::7"}
    client.post(f"/security-groups/{web.pk}/rules/", one)
    client.post(f"/security-groups/{web.pk}/rules/", {**RULE, "preset": "ping", "remote_group": str(web.pk)})

    page = sentences(client, web)
    assert "Lets in UDP ports 8000 to 8100 from 10.9.0.0/16." in page
    assert "Lets in TCP port 8080 from 2001:db8::7/128." in page
    assert "Lets in ICMPv6 from the group web (IPv6)." in page


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"remote_cidr": "10.0.0.0/99"}, "is no address, and no range"),
        ({"preset": "other", "protocol": "tcp", "ports": "x"}, "Say a number, or the first and the last"),
        ({"preset": "other", "protocol": "nonsense"}, "it must be a number from 0 to 255"),
        ({"preset": "other", "protocol": "tcp", "ports": "90-80"}, "The first port 90 is above the last one 80."),
        ({"preset": "other", "protocol": "gre", "ports": "80"}, "Ports go with"),
        ({"remote_group": "00000000-0000-0000-0000-00000000000a"}, "Select a valid choice"),
        ({"preset": "nonsense"}, "Select a valid choice"),
    ],
)
def test_each_refusal_stands_in_the_form_and_adds_nothing(
    changes: dict[str, str], said: str, people: People, as_person: AsPerson, web: SecurityGroup
) -> None:
    before = SecurityGroupRule.objects.count()

    answer = as_person(people.member).post(f"/security-groups/{web.pk}/rules/", {**RULE, **changes})

    assert (answer.status_code, SecurityGroupRule.objects.count()) == (200, before)
    assert said in answer.text
    assert '<details class="card more" id="add" open>' in answer.text
    assert "No rule was added." in answer.text


def test_a_rule_that_is_there_already_is_refused_with_its_words(
    people: People, as_person: AsPerson, web: SecurityGroup
) -> None:
    client = as_person(people.member)
    client.post(f"/security-groups/{web.pk}/rules/", RULE)

    again = client.post(f"/security-groups/{web.pk}/rules/", RULE)

    assert again.status_code == 200
    assert again.text.count("Lets in TCP port 22 from anywhere (IPv4).") >= 2


def test_a_rule_is_removed(people: People, as_person: AsPerson, web: SecurityGroup) -> None:
    client = as_person(people.member)
    client.post(f"/security-groups/{web.pk}/rules/", {**RULE, "version": "4"})
    rule = SecurityGroupRule.objects.get(group=web, port_min=22)

    gone = client.post(f"/security-rules/{rule.pk}/delete/", follow=True)

    assert "Removed: Lets in TCP port 22 from anywhere (IPv4)." in gone.text
    assert not SecurityGroupRule.objects.filter(pk=rule.pk).exists()


def test_what_is_in_a_group_is_shown_and_keeps_it(people: People, as_person: AsPerson, web: SecurityGroup) -> None:
    client = as_person(people.member)
    project = Project.objects.get(pk=people.member.project_id)
    port = world.port(world.network("blue"), groups=[web], project=project)

    assert port.addresses[0] in sentences(client, web)
    refused = client.post(f"/security-groups/{web.pk}/delete/")
    assert (refused.status_code, SecurityGroup.objects.filter(pk=web.pk).exists()) == (409, True)
    assert "1 port is in it" in refused.text
    port.delete()
    assert client.post(f"/security-groups/{web.pk}/delete/").status_code == 302
    assert "Nothing matches" not in client.get("/security-groups/").text


def test_name_and_description_are_changed_and_the_default_group_keeps_its_name(
    people: People, as_person: AsPerson, web: SecurityGroup
) -> None:
    client = as_person(people.member)
    default = SecurityGroup.objects.get(is_default=True)

    client.post(f"/security-groups/{web.pk}/edit/", {"name": "front", "description": "<b>"})
    refused = client.post(f"/security-groups/{default.pk}/edit/", {"name": "mine", "description": ""})

    web.refresh_from_db()
    assert web.name == "front"
    assert "&lt;b&gt;" in sentences(client, web)
    assert "keeps its name" in refused.text
    assert 'id="delete"' not in sentences(client, default)


@pytest.mark.parametrize(
    ("path", "statuses"),
    [
        ("/security-groups/", (200, 200, 200, 200)),
        ("/security-groups/new/", (200, 200, 403, 200)),
        ("/security-groups/{group}/", (200, 200, 200, 404)),
        ("/security-groups/{group}/edit/", (200, 200, 403, 404)),
    ],
)
def test_each_page_opens_for_those_it_is_meant_for(
    path: str, statuses: tuple[int, ...], people: People, as_person: AsPerson, web: SecurityGroup
) -> None:
    address = path.format(group=web.pk)

    found = tuple(as_person(getattr(people, one)).get(address).status_code for one in PERSONS)

    assert found == statuses
    assert Client().get(address).status_code == 302


@pytest.mark.parametrize("path", ["new/", "{group}/edit/", "{group}/rules/", "{group}/delete/", "rule"])
def test_who_may_not_change_a_group_changes_nothing(
    path: str, people: People, as_person: AsPerson, web: SecurityGroup
) -> None:
    rule = web.rules.first()
    assert rule is not None
    said = {"name": "stolen", "description": "", **RULE}
    address = f"/security-rules/{rule.pk}/delete/" if path == "rule" else "/security-groups/" + path
    before = list(SecurityGroupRule.objects.values_list("pk", "group__name").order_by("pk"))

    refused = [as_person(people.reader).post(address.format(group=web.pk), said).status_code]
    if path != "new/":
        refused.append(as_person(people.stranger).post(address.format(group=web.pk), said).status_code)

    assert refused in ([403], [403, 404])
    assert list(SecurityGroupRule.objects.values_list("pk", "group__name").order_by("pk")) == before


def test_a_stranger_sees_no_group_of_others_and_the_default_one_of_his_own_project(
    people: People, as_person: AsPerson, web: SecurityGroup
) -> None:
    page = as_person(people.stranger).get("/security-groups/").text

    assert "Front ends" not in page
    default = SecurityGroup.objects.get(project_id=people.stranger.project_id)
    assert default.is_default
    assert f"/security-groups/{default.pk}/" in page
    assert "Nothing matches the filters" in as_person(people.member).get("/security-groups/?search=xyz").text


def test_lists_and_details_cost_a_constant_number_of_queries(
    people: People, as_person: AsPerson, web: SecurityGroup
) -> None:
    client, blue = as_person(people.admin), world.network("blue")
    project = Project.objects.get(pk=people.member.project_id)

    def queries(path: str) -> int:
        client.get(path)
        with CaptureQueriesContext(connection) as seen:
            assert client.get(path).status_code == 200
        return len(seen)

    world.port(blue, groups=[web], project=project)
    world.rule_add(web, remote=web)
    paths = ("/security-groups/", f"/security-groups/{web.pk}/")
    few = [queries(path) for path in paths]
    for number in range(8):
        other = security_group_create(caller=people.member, name=f"more-{number}")
        world.port(blue, groups=[web, other], project=project)
        world.rule_add(web, remote=other)
    assert [queries(path) for path in paths] == few
