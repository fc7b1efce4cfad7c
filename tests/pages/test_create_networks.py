"""The part of the create form that says more about networks than which: words, addresses, tags, existing ports."""

import json
import shlex
import uuid
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from servers.models import BuildRequest, Port, RequestSpec, Subnet
from servers.networks.domain.names import PortOwner
from tests.pages.test_instance_pages import form
from tests.worlds.cloud import People, client_of
from tests.worlds.routing import guest_port, inside

AsPerson = Callable[[Caller], Client]
CREATE = "/instances/create/"


@pytest.fixture
def blue(people: People) -> Subnet:
    return inside(people.member, "10.1.0.0/24", "blue")


@pytest.fixture
def green(people: People) -> Subnet:
    return inside(people.member, "10.2.0.0/24", "green")


@pytest.fixture
def port(people: People, green: Subnet) -> Port:
    return guest_port(people.member, green, name="kept-address")


def rows(*asked: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    of, addresses, tags = zip(*asked, strict=True)
    return {**form(**more), "nic_of": of, "nic_fixed_ip": addresses, "nic_tag": tags}


def nics() -> list[tuple[str, str | None, str, str]]:
    body = RequestSpec.objects.get().body["nics"]
    return [(one["network_id"], one.get("port_id"), one.get("fixed_ip", ""), one.get("tag", "")) for one in body]


def problems(client: Client, data: dict[str, Any]) -> dict[str, list[str]]:
    answer = client.post(CREATE, data)
    assert not BuildRequest.objects.exists()
    assert "Nothing was created." in answer.text
    return {field: list(texts) for field, texts in answer.context["form"].errors.items()}


def test_networks_come_first_then_addresses_tags_and_ports(
    people: People, as_person: AsPerson, blue: Subnet, green: Subnet, port: Port
) -> None:
    client = as_person(people.member)
    page = client.get(CREATE).text
    assert f'value="port:{port.pk}"' in page
    assert f"kept-address, {port.addresses[0]}, green" in page
    data = rows((f"network:{blue.network_id}", "10.1.0.77", "front"), ("", "", ""), (f"port:{port.pk}", "", "back"))

    client.post(CREATE, {**data, "networks": [str(green.network_id)]})

    assert nics() == [
        (str(green.network_id), None, "", ""),
        (str(blue.network_id), None, "10.1.0.77", "front"),
        (str(green.network_id), str(port.pk), "", "back"),
    ]
    port.refresh_from_db()
    assert port.instance_uuid == BuildRequest.objects.get().instance_uuid
    assert f'value="port:{port.pk}"' not in client.get(CREATE).text


def test_a_word_says_that_there_is_no_card(people: People, as_person: AsPerson, blue: Subnet) -> None:
    as_person(people.member).post(CREATE, form(network_choice="none"))

    body = BuildRequest.objects.get()
    assert (body.ports, body.typed_body.has_default_network) == (0, False)


def test_auto_takes_the_only_network(people: People, as_person: AsPerson, blue: Subnet) -> None:
    as_person(people.member).post(CREATE, form(network_choice="auto"))

    assert [one[0] for one in nics()] == [str(blue.network_id)]


def test_auto_of_several_is_refused_at_the_word(
    people: People, as_person: AsPerson, blue: Subnet, green: Subnet
) -> None:
    found = problems(as_person(people.member), form(network_choice="auto"))

    assert list(found) == ["network_choice"]
    assert found["network_choice"][0].startswith("Several networks are possible")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("network:{blue}", "10.9.0.5", ""), "10.9.0.5 is in no subnet of network blue (10.1.0.0/24)."),
        (("network:{green}", "{taken}", ""), "{taken} is in use in network green."),
        (("network:{blue}", "ten", ""), "Interface 1: 'ten' is no IP address."),
        (("network:{blue}", "", "a,b"), "Interface 1: tag: Tag 'a,b': must not contain a slash or a comma."),
        (("port:{port}", "10.2.0.9", ""), "Interface 1: fixed_ip 10.2.0.9 cannot be given with a port, which has its"),
        (("", "10.1.0.9", ""), "Interface 1: names neither a network nor a port."),
        (("host:h1", "", ""), "Interface 1: has no 'host'; it takes network, port, fixed_ip, tag."),
        (("nonsense", "", ""), "Interface 1: has no 'nonsense'"),
        (("port:" + "x" * 300, "", ""), "Interface 1: port: Has 300 characters; at most 255 are allowed."),
        (("port:nobody's", "", ""), "There is no port "),
    ],
)
def test_what_is_wrong_stands_at_the_rows_which_are_shown_again(
    people: People, as_person: AsPerson, blue: Subnet, port: Port, row: tuple[str, str, str], reason: str
) -> None:
    names = {"blue": blue.network_id, "green": port.network_id, "port": port.pk, "taken": port.addresses[0]}
    of, address, tag = (text.format(**names) for text in row)
    asked = (of, address, tag)

    answer = as_person(people.member).post(CREATE, rows(asked))

    found = answer.context["form"].errors
    assert list(found) == ["interfaces"]
    assert found["interfaces"][0].startswith(reason.format(**names))
    assert '<details class="more" id="interfaces" open>' in answer.text
    shown = answer.context["form"].interface_rows[0][0]
    assert (shown.of, shown.fixed_ip, shown.tag) == asked
    assert not BuildRequest.objects.exists()


def test_each_row_has_its_number(people: People, as_person: AsPerson, blue: Subnet) -> None:
    good = (f"network:{blue.network_id}", "", "")
    found = problems(as_person(people.member), rows(good, ("", "", ""), (good[0], "ten", "")))

    assert found == {"interfaces": ["Interface 2: 'ten' is no IP address."]}


def test_a_word_goes_with_no_network_and_no_row(people: People, as_person: AsPerson, blue: Subnet) -> None:
    client, row = as_person(people.member), (f"network:{blue.network_id}", "", "")

    assert list(problems(client, rows(row, network_choice="none"))) == ["network_choice"]
    assert list(problems(client, form(network_choice="auto", networks=str(blue.network_id)))) == ["network_choice"]
    assert list(problems(client, form(network_choice="some"))) == ["network_choice"]


def test_more_than_an_instance_can_have_is_refused(people: People, as_person: AsPerson, blue: Subnet) -> None:
    found = problems(as_person(people.member), rows(*[(f"network:{blue.network_id}", "", "")] * 17))

    assert found == {"interfaces": ["Has 17 interfaces; an instance has at most 16."]}


def test_a_port_is_for_one_instance(people: People, as_person: AsPerson, port: Port) -> None:
    found = problems(as_person(people.member), rows((f"port:{port.pk}", "", ""), min_count="2"))

    assert found == {"interfaces": ["A port can be given to one instance only, and up to 2 are asked for."]}


@pytest.mark.parametrize("whose", ["stranger", "member"])
def test_a_port_of_others_or_of_another_instance_is_refused(
    people: People, as_person: AsPerson, blue: Subnet, whose: str
) -> None:
    owner: Caller = getattr(people, whose)
    theirs = blue if whose == "member" else inside(people.stranger, "10.3.0.0/24", "theirs")
    is_taken = {"instance_uuid": uuid.uuid4(), "owner": PortOwner.INSTANCE} if whose == "member" else {}
    taken = guest_port(owner, theirs, name="secret-port", **is_taken)

    for person in (people.member, people.admin):
        client = as_person(person)
        assert str(taken.pk) not in client.get(CREATE).text
        found = problems(client, rows((f"port:{taken.pk}", "", "")))
        text = str(found)
        assert ("is in use by instance" if whose == "member" else "There is no port ") in text
        assert ("secret-port" in text) is (whose == "member")


def test_a_reader_asks_for_nothing(people: People, as_person: AsPerson, port: Port) -> None:
    assert as_person(people.reader).post(CREATE, rows((f"port:{port.pk}", "", ""))).status_code == 403
    assert not BuildRequest.objects.exists()


def test_another_row_is_given_and_nothing_is_judged_or_created(
    people: People, as_person: AsPerson, blue: Subnet
) -> None:
    data = {**rows(("", "ten", "front"), min_count="many"), "more": "interfaces", "protected": "on"}

    page = as_person(people.member).post(CREATE, data)

    shown = page.context["form"]
    assert [row.fixed_ip for row, _unknown in shown.interface_rows] == ["ten", "", ""]
    assert (shown["min_count"].value(), shown["protected"].value(), shown.errors) == ("many", "on", {})
    assert '<details class="more" id="interfaces" open>' in page.text
    assert not BuildRequest.objects.exists()


def test_trying_takes_the_rows_and_hands_them_to_the_page_that_simulates(
    people: People, as_person: AsPerson, blue: Subnet, port: Port
) -> None:
    data = rows((f"network:{blue.network_id}", "", ""), (f"port:{port.pk}", "", ""))

    tried = as_person(people.admin).post(CREATE, {**data, "name": "", "try": "1"})

    assert tried.context["form"].errors == {}
    assert f"networks={blue.network_id}&ports={port.pk}" in tried.context["trial_query"]
    none = as_person(people.admin).post(CREATE, form(network_choice="none", **{"try": "1"}))
    assert none.context["trial_query"].endswith("no_network=on")
    answer = as_person(people.member).post(f"{CREATE}answer/", rows((f"network:{blue.network_id}", "10.9.0.5", "")))
    assert ("Interfaces", "10.9.0.5 is in no subnet of network blue (10.1.0.0/24).") in answer.context["problems"]


def test_the_call_of_the_form_asks_for_the_same(
    people: People, as_person: AsPerson, blue: Subnet, green: Subnet, port: Port
) -> None:
    asked = rows((f"network:{blue.network_id}", "10.1.0.77", "front"), (f"port:{port.pk}", "", ""))
    typed = {**asked, "networks": [str(green.network_id)], "as_curl_of": CREATE}
    answer = as_person(people.member).post("/as-curl/", typed)

    made = client_of(people.member).post("/api/instances/", json.loads(shlex.split(unescape(answer.text))[-1]))

    assert made.status_code == 202, made.text
    assert [(one[1], one[2], one[3]) for one in nics()] == [
        (None, "", ""),
        (None, "10.1.0.77", "front"),
        (str(port.pk), "", ""),
    ]
