"""Who can reach port 22 of web-1, and why not: the answer as people read it."""

import uuid
from collections.abc import Callable

import pytest
from django.test import Client

from computeagent.protocol.networks import PortStatus
from computeagent.protocol.power import PowerState
from controlplane.identity.domain import Caller
from servers.models import Instance, Port
from servers.networks.domain.names import PortOwner
from servers.networks.domain.ports import PortRequest
from servers.networks.domain.rules import RuleRequest
from servers.networks.selectors.topology import MAX_FLOATING_PORTS as MAX_PORTS
from servers.networks.services.groups import default_group_ensure
from servers.networks.services.ports import ports_create
from servers.networks.services.rules import security_group_rules_add
from tests.worlds.cloud import People, active
from tests.worlds.routing import guest_port, inside

AsPerson = Callable[[Caller], Client]


@pytest.fixture
def ports(people: People) -> list[Port]:
    """web-1 and db-1 of one network, both in the default group."""
    subnet = inside(people.member, "10.1.0.0/24", "blue")
    guests = [active(people.member, name) for name in ("web-1", "db-1")]
    made = [guest_port(people.member, subnet, instance_uuid=one.pk, owner=PortOwner.INSTANCE) for one in guests]
    Instance.objects.update(power_state=PowerState.RUNNING)
    Port.objects.filter(pk__in=[port.pk for port in made]).update(status=PortStatus.ACTIVE, host="h1")
    return made


def asked(client: Client, to: object, **more: str) -> str:
    said = {"to": str(to), "what": "ssh", "source": "outside", **more}
    return client.get("/reachability/", said).text.partition("<main")[2]


def test_a_closed_port_says_why_and_a_rule_opens_it(people: People, as_person: AsPerson, ports: list[Port]) -> None:
    client, (web, _) = as_person(people.member), ports
    world = {"source": "address", "address": "10.1.0.77"}

    closed = asked(client, web.pk, **world)
    assert "not reachable" in closed
    assert "TCP port 22" in closed
    group = default_group_ensure(project_id=people.member.project_id)
    rule = RuleRequest("ingress", 4, "tcp", 22, 22, "10.1.0.0/24")
    security_group_rules_add(caller=people.member, group=group, rules=[rule])

    opened = asked(client, web.pk, **world)
    assert "not reachable" not in opened
    assert web.addresses[0] in opened


def test_instances_of_one_group_reach_each_other(people: People, as_person: AsPerson, ports: list[Port]) -> None:
    web, db = ports
    page = asked(as_person(people.reader), web.pk, source=str(db.pk))

    assert '<span class="pill good">reachable</span>' in page


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"source": "address", "address": "nonsense"}, "is neither the id of a port"),
        ({"what": "other", "number": "70000"}, "65535"),
        ({"what": "other", "number": "x"}, "Enter a whole number."),
        ({"source": str(uuid.uuid4())}, "Select a valid choice"),
    ],
)
def test_each_refusal_stands_at_its_field(
    changes: dict[str, str], said: str, people: People, as_person: AsPerson, ports: list[Port]
) -> None:
    page = asked(as_person(people.member), ports[0].pk, **changes)

    assert said in page
    assert 'id="answer"' not in page


def test_strangers_instances_are_neither_offered_nor_answered(
    people: People, as_person: AsPerson, ports: list[Port]
) -> None:
    client = as_person(people.stranger)

    assert "No instance has an address of a network yet" in client.get("/reachability/").text
    page = asked(client, ports[0].pk)
    assert 'id="answer"' not in page
    assert "web-1" not in page
    assert Client().get("/reachability/").status_code == 302


def test_the_instances_page_leads_here(people: People, as_person: AsPerson, ports: list[Port]) -> None:
    client = as_person(people.member)

    page = client.get(f"/instances/{ports[0].instance_uuid}/").text
    assert f"/reachability/?to={ports[0].pk}" in page
    chosen = client.get(f"/reachability/?to={ports[0].pk}").text
    assert f'<option value="{ports[0].pk}" selected>web-1' in chosen


def test_port_that_a_link_names_is_chosen_however_many_were_there_before(
    people: People, as_person: AsPerson, ports: list[Port]
) -> None:
    net = inside(people.member, "10.2.0.0/16", "wide").network
    made = ports_create(caller=None, requests=[PortRequest(net.pk, None) for _ in range(MAX_PORTS)])
    last = Port.objects.order_by("created_at", "pk").filter(pk__in=[one.pk for one in made]).last()
    assert last is not None
    page = as_person(people.admin).get(f"/reachability/?to={last.pk}").text
    assert f'<option value="{last.pk}" selected>' in page
    other = as_person(people.stranger).get(f"/reachability/?to={last.pk}").text
    assert str(last.pk) not in other.partition("<main")[2]
    assert as_person(people.member).get("/reachability/?to=nothing").status_code == 200
