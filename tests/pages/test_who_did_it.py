"""Pages name who asked and who changed what, to those who may know."""

from collections.abc import Callable

from django.test import Client

from controlplane.identity.domain import Caller
from servers.models import Flavor, Image
from tests.worlds.cloud import People, active, client_of

AsPerson = Callable[[Caller], Client]


def test_work_and_decisions_name_who_asked(people: People, as_person: AsPerson) -> None:
    body = {"name": "web-1", "flavor": "m1.tiny", "image": "demo"}
    asked = client_of(people.member).post("/api/instances/", body)
    assert asked.status_code == 202

    page = as_person(people.admin).get("/work/")
    assert "Asked by" in page.text
    assert "mary" in page.text.partition("<tbody>")[2]


def test_what_nobody_asked_for_is_the_control_planes(people: People, as_person: AsPerson) -> None:
    active(people.member, "web-1")  # by the service, without a request
    assert "the control plane" in as_person(people.admin).get("/work/?state=").text


def test_a_flavor_says_who_changed_it_to_members_of_no_project_nothing(people: People, as_person: AsPerson) -> None:
    flavor = Flavor.objects.get()
    changed = client_of(people.admin).patch(f"/api/flavors/{flavor.pk}/", {"description": "new words"})
    assert changed.status_code == 200

    page = as_person(people.admin).get(f"/flavors/{flavor.pk}/").text
    assert "Who changed it" in page
    assert "<b>root</b> update" in page
    assert "Description: new words" in page
    members = as_person(people.member).get(f"/flavors/{flavor.pk}/").text
    assert "new words" not in members.partition('id="history"')[2]
    assert "Who changed it" not in as_person(people.reader).get(f"/flavors/{flavor.pk}/").text


def test_an_instance_tells_its_project_who_changed_it_and_no_host(people: People, as_person: AsPerson) -> None:
    instance = active(people.member, "web-1")
    client_of(people.member).patch(f"/api/instances/{instance.pk}/", {"description": "said so"})

    page = as_person(people.member).get(f"/instances/{instance.pk}/").text
    history = page.partition('id="history"')[2]
    assert "<b>mary</b> update" in history
    assert "said so" in history
    assert "/hosts/" not in history
    assert as_person(people.stranger).get(f"/instances/{instance.pk}/").status_code == 404


def test_other_things_have_their_history_too(people: People, as_person: AsPerson) -> None:
    image = Image.objects.get()
    client = as_person(people.admin)
    for path in (f"/images/{image.pk}/", f"/projects/{people.member.project_id}/", f"/users/{people.member.user_id}/"):
        assert "Who changed it" in client.get(path).text, path


def test_the_page_of_a_security_group_tells_a_rule_in_words(people: People, as_person: AsPerson) -> None:
    api = client_of(people.member)
    group = api.post("/api/security-groups/", {"name": "web"}, format="json").json()["id"]
    rule = {"group": group, "direction": "ingress", "ip_version": 4, "protocol": "tcp", "port_min": 22, "port_max": 22}
    assert api.post("/api/security-group-rules/", rule, format="json").status_code == 201

    told = as_person(people.admin).get(f"/security-groups/{group}/").text.partition('id="history"')[2]

    assert all(said in told for said in ("direction: ingress", "protocol: tcp", "port_min: 22"))
    assert "RuleRequest" not in told
