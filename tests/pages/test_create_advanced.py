"""The folded part of the create form: how the guest is configured."""

import pytest

from servers.models import BuildRequest, FirstBootData
from tests.pages.test_instance_pages import form
from tests.worlds.cloud import People

pytestmark = pytest.mark.django_db(transaction=True)


def test_configuration_is_passed_on(people: People, as_person) -> None:  # type: ignore[no-untyped-def]
    changes = {"hostname": "db.lab", "access_ip_v6": "2001:db8::1", "disk_config": "MANUAL", "description": "the db"}
    as_person(people.member).post("/instances/create/", form(**changes, admin_pass="pass word"))

    body = BuildRequest.objects.get().typed_body
    assert (body.hostname, body.access_ip_v6, body.disk_config) == ("db.lab", "2001:db8::1", "MANUAL")
    assert (body.description, body.config_drive) == ("the db", True)
    assert FirstBootData.objects.count() == 1


def test_refusal_unfolds_the_part_and_stands_at_its_field(people: People, as_person) -> None:  # type: ignore[no-untyped-def]
    answer = as_person(people.member).post(
        "/instances/create/", form(without_config_drive="on", admin_pass="s3cret-word", hostname="a..b")
    )

    assert set(answer.context["form"].errors) == {"without_config_drive", "hostname"}
    assert answer.text.count('<details class="more" open>') == 1
    assert "s3cret-word" not in answer.text
    assert not BuildRequest.objects.exists()


def test_only_admins_may_request_a_host(people: People, as_person) -> None:  # type: ignore[no-untyped-def]
    assert 'name="host"' in as_person(people.admin).get("/instances/create/").text
    assert 'name="host"' not in as_person(people.member).get("/instances/create/").text
    as_person(people.member).post("/instances/create/", form(host="h1"))
    assert BuildRequest.objects.get().instance_body["hostname"] == "web"


def test_boxes_that_are_one_field_are_a_group_with_a_name(people: People, as_person) -> None:  # type: ignore[no-untyped-def]
    page = as_person(people.member).get("/instances/create/").text

    assert '<div class="field" role="group" aria-labelledby="id_security_groups_label"' in page
    assert '<span class="label" id="id_security_groups_label">Security groups' in page
    assert 'for=""' not in page
