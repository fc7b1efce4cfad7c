"""Networks, subnets and ports under /api/: who may do what, and how answers and refusals look."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from servers.models import Network, Port
from servers.networks.services.ports import ports_create
from tests.worlds import cloud
from tests.worlds.ports import asked, network, subnet

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def bridges(settings):
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "bridge"}


@pytest.fixture
def who() -> cloud.People:
    return cloud.people()


@pytest.fixture
def clients(who) -> dict[str, APIClient]:
    return {name: cloud.client_of(getattr(who, name)) for name in ("admin", "member", "reader", "stranger")}


def posted(client: APIClient, path: str, status: int = 201, **body) -> dict:
    answer = client.post(f"/api/{path}/", body, format="json")
    assert answer.status_code == status, answer.content
    return answer.json() if status < 400 else answer.json()["error"]


def patched(client: APIClient, path: str, status: int = 200, **body) -> dict:
    answer = client.patch(f"/api/{path}/", body, format="json")
    assert answer.status_code == status, answer.content
    return answer.json() if status < 400 else answer.json()["error"]


def test_network_subnet_and_port_of_a_project(clients, who):
    member = clients["member"]
    net = posted(member, "networks", name="lan")
    assert (net["kind"], net["segment"], net["mtu"]) == ("bridge", None, 1450)
    assert net["project"] == str(who.member.project_id)
    range_of = posted(
        member,
        "subnets",
        network=net["id"],
        cidr="10.0.0.0/24",
        pools=[{"first": "10.0.0.10", "last": "10.0.0.20"}],
        routes=[{"destination": "10.9.0.0/16", "nexthop": "10.0.0.9"}],
    )
    assert (range_of["gateway"], range_of["metadata_address"]) == ("10.0.0.1", "10.0.0.10")
    assert (range_of["addresses_total"], range_of["addresses_used"]) == (11, 0)
    port = posted(member, "ports", network=net["id"], name="web")
    assert port["fixed_addresses"] == [{"subnet": range_of["id"], "address": "10.0.0.11"}]
    assert (port["status"], port["owner"], port["instance"], len(port["security_groups"])) == ("DOWN", "", None, 1)
    assert member.get(f"/api/subnets/{range_of['id']}/").json()["addresses_used"] == 1
    assert member.get(f"/api/networks/{net['id']}/").json()["subnets"] == [range_of["id"]]
    changed = patched(member, f"ports/{port['id']}", name="db", fixed_addresses=[{"address": "10.0.0.77"}])
    assert (changed["name"], changed["fixed_addresses"][0]["address"]) == ("db", "10.0.0.77")
    assert patched(member, f"subnets/{range_of['id']}", pools=None)["addresses_total"] == 253
    refused = patched(member, f"subnets/{range_of['id']}", 400, pools=None, gateway="x")
    assert refused["field"] == "gateway"
    assert patched(member, f"networks/{net['id']}", name="wan")["name"] == "wan"
    assert member.get("/api/ports/?address=10.0.0.77").json()["results"][0]["network_name"] == "wan"
    assert member.delete(f"/api/networks/{net['id']}/").json()["error"]["code"] == "network_in_use"
    for path in (f"ports/{port['id']}", f"subnets/{range_of['id']}", f"networks/{net['id']}"):
        assert member.delete(f"/api/{path}/").status_code == 204
        assert member.get(f"/api/{path}/").status_code == 404


def test_reader_reads_and_writes_nothing(clients, who):
    net = network(project_id=who.member.project_id)
    rows = {"networks": net, "subnets": subnet(net)}
    rows["ports"] = ports_create(caller=None, requests=[asked(net, who.member.project_id)])[0]
    bodies = {"networks": {}, "subnets": {"network": net.pk, "cidr": "10.5.0.0/24"}, "ports": {"network": net.pk}}
    for kind, row in rows.items():
        assert clients["reader"].get(f"/api/{kind}/").json()["count"] == 1
        assert clients["reader"].get(f"/api/{kind}/{row.pk}/").status_code == 200
        assert clients["reader"].post(f"/api/{kind}/", bodies[kind], format="json").status_code == 403
        assert clients["reader"].patch(f"/api/{kind}/{row.pk}/", {"name": "x"}, format="json").status_code == 403
        assert clients["reader"].delete(f"/api/{kind}/{row.pk}/").status_code == 403
        assert clients["stranger"].get(f"/api/{kind}/").json()["count"] == 0
        assert clients["stranger"].get(f"/api/{kind}/{row.pk}/").status_code == 404
        assert clients["stranger"].patch(f"/api/{kind}/{row.pk}/", {"name": "x"}, format="json").status_code == 404
        assert clients["stranger"].delete(f"/api/{kind}/{row.pk}/").status_code == 404
        assert APIClient().get(f"/api/{kind}/").status_code == 401


def test_sharing_and_the_outside_are_for_administrators(clients, who):
    for body in ({"is_shared": True}, {"kind": "ovn"}, {"project": None}, {"project": str(who.stranger.project_id)}):
        assert posted(clients["member"], "networks", 403, name="x", **body)["code"] == "forbidden"
    outside = posted(
        clients["admin"], "networks", name="public", project=None, is_external=True, physical_network="public"
    )
    posted(clients["admin"], "subnets", network=outside["id"], cidr="198.51.100.0/24", has_dhcp=False)
    assert outside["physical_network"] == "public"
    seen = clients["member"].get(f"/api/networks/{outside['id']}/").json()
    assert (seen["physical_network"], seen["subnets"]) == (None, [])
    assert posted(clients["member"], "ports", 404, network=outside["id"])["field"] == "network"
    assert patched(clients["member"], f"networks/{outside['id']}", 403, name="mine")["code"] == "forbidden"
    own = posted(clients["member"], "networks", name="own")
    assert patched(clients["member"], f"networks/{own['id']}", 403, is_shared=True)["code"] == "forbidden"


def test_guest_of_a_shared_network_takes_what_it_is_given(clients, who):
    net = network(project_id=who.member.project_id, is_shared=True)
    subnet(net)
    refused = posted(clients["stranger"], "ports", 400, network=str(net.pk), mac="fa:16:3e:00:00:01")
    assert refused["field"] == "mac"
    port = posted(clients["stranger"], "ports", network=str(net.pk))
    assert port["project"] == str(who.stranger.project_id)
    assert clients["member"].get(f"/api/ports/{port['id']}/").status_code == 200
    assert patched(clients["member"], f"ports/{port['id']}", 403, name="x")["code"] == "forbidden"


@pytest.mark.parametrize(
    ("path", "body", "field", "status"),
    [
        ("networks", {"name": "x" * 256}, "name", 400),
        ("networks", {"mtu": 9000}, "mtu", 400),
        ("networks", {"hue": "red"}, "hue", 400),
        ("subnets", {"cidr": "10.0.0.1/24"}, "cidr", 400),
        ("subnets", {"cidr": "10.0.0.0/24", "gateway": "10.1.0.1"}, "gateway", 400),
        ("subnets", {"cidr": "169.254.0.0/16"}, "cidr", 400),
        ("subnets", {"cidr": "10.0.0.0/24", "pools": [{"first": "10.0.0.1"}]}, "pools.0.last", 400),
        ("subnets", {"cidr": "10.0.0.0/24", "pools": [None]}, "pools.0", 400),
        ("subnets", {"cidr": "10.77.0.0/25"}, "cidr", 409),
        ("ports", {"mac": "01:00:00:00:00:00"}, "mac", 400),
        ("ports", {"fixed_addresses": [{"address": "10.1.0.1"}]}, "fixed_addresses", 400),
        ("ports", {"fixed_addresses": [{"address": "10.77.0.9"}]}, "fixed_addresses", 409),
        ("ports", {"security_groups": [str(uuid.UUID(int=1))]}, "security_groups", 404),
        ("ports", {"fixed_addresses": [{}]}, "fixed_addresses", 400),
        ("ports", {"allowed_pairs": [{"address": "x"}]}, "allowed_pairs", 400),
        ("ports", {"network": str(uuid.UUID(int=1))}, "network", 404),
    ],
)
def test_refusals_name_their_field(clients, who, path, body, field, status):
    net = network(project_id=who.member.project_id)
    subnet(net, "10.77.0.0/24")
    posted(clients["member"], "ports", network=str(net.pk), fixed_addresses=[{"address": "10.77.0.9"}])
    body = body if path == "networks" else {"network": str(net.pk), **body}
    refused = posted(clients["member"], path, status, **body)
    assert refused["field"] == field
    assert refused["message"]
    assert (Network.objects.count(), Port.objects.count()) == (1, 1)


def test_lists_cost_as_many_queries_for_many_as_for_few(clients, who):
    net = network(project_id=who.member.project_id)
    subnet(net)
    for path in ("networks", "subnets", "ports"):
        clients["reader"].get(f"/api/{path}/")
    counts = []
    for _ in range(2):
        ports_create(caller=None, requests=[asked(net, who.member.project_id) for _ in range(3)])
        subnet(network(project_id=who.member.project_id))
        with CaptureQueriesContext(connection) as found:
            for path in ("networks", "subnets", "ports"):
                assert clients["reader"].get(f"/api/{path}/").status_code == 200
        counts.append(len(found))
    assert counts[0] == counts[1]


def test_hosts_are_told_to_administrators_alone(clients, who):
    net = network(project_id=who.member.project_id)
    ports_create(caller=None, requests=[asked(net, who.member.project_id, host="h1")])
    Port.objects.update(problem="h1 has no bridge")
    assert clients["admin"].get("/api/ports/").json()["results"][0]["host"] == "h1"
    shown = clients["member"].get("/api/ports/").json()["results"][0]
    assert (shown["host"], shown["problem"]) == (None, "")


def test_lists_are_narrowed(clients, who):
    net = network(project_id=who.member.project_id)
    six = subnet(net, "fd00::/64")
    port = ports_create(caller=None, requests=[asked(net, who.member.project_id, name="web")])[0]
    member = clients["member"]
    for query in (f"subnet={six.pk}", f"network={net.pk}", "address=FD00:0:0::2", f"mac={port.mac}", "search=we"):
        assert member.get(f"/api/ports/?{query}").json()["count"] == 1, query
    for query in ("address=10.0.0.9", "address=nothing", "status=ACTIVE", f"router={net.pk}"):
        assert member.get(f"/api/ports/?{query}").json()["count"] == 0, query
    assert member.get(f"/api/subnets/?network={net.pk}&ip_version=6").json()["count"] == 1
    assert member.get("/api/networks/?kind=ovn").json()["count"] == 0


def test_what_a_port_asks_of_placement_is_said_and_seen_by_administrators(clients, who):
    net = network("lan", project_id=who.member.project_id)
    subnet(net)
    wanted = {"out": {"resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 2000}, "required": ["CUSTOM_PHYSNET_FAST"]}}
    fields = {"network": str(net.pk), "resource_request": wanted}
    assert posted(clients["member"], "ports", 403, **fields)["field"] == "resource_request"
    assert posted(clients["reader"], "ports", 403, **fields)["code"] == "forbidden"
    posted(clients["stranger"], "ports", 403, **fields)
    made = posted(clients["admin"], "ports", project=str(who.member.project_id), **fields)
    assert made["resource_request"] == wanted
    path = f"ports/{made['id']}"
    assert clients["member"].get(f"/api/{path}/").json()["resource_request"] is None
    assert clients["reader"].get(f"/api/{path}/").json()["resource_request"] is None
    assert clients["stranger"].get(f"/api/{path}/").status_code == 404
    assert patched(clients["member"], path, 403, resource_request={})["field"] == "resource_request"
    patched(clients["reader"], path, 403, resource_request={})
    bad = {"out": {"resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 1}, "share": 5}}
    refused = patched(clients["admin"], path, 400, resource_request=bad)
    assert "'share'" in refused["reasons"]["resource_request"][0]
    more = {"out": {"resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 3000}, "required": []}}
    assert patched(clients["admin"], path, resource_request=more)["resource_request"] == more
    assert patched(clients["admin"], path, name="x")["resource_request"] == more
    assert patched(clients["admin"], path, resource_request={})["resource_request"] == {}
    Port.objects.update(instance_uuid=uuid.uuid4())
    assert patched(clients["admin"], path, 409, resource_request=more)["field"] == "resource_request"
