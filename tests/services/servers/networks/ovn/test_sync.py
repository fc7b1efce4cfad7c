"""Rows to OVN's northbound database, and what becomes of it when either of them changes."""

import json
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.identity.models import Project
from controlplane.kernel.errors import Unavailable
from controlplane.work.models import Heal
from servers.conf import ovn_options
from servers.models import FloatingIP, OvnChange, OvnCheck, Port, SecurityGroupRule
from servers.networks.ovn.northbound import Northbound
from servers.networks.ovn.port_status import port_statuses_write
from servers.networks.ovn.sync import NORTHBOUND, changes_compact, changes_sync, whole_sync
from servers.networks.services.changes import networks_changed
from servers.networks.services.ovn_changes import ovn_whole_request
from tests.fixtures.ovn import Central
from tests.worlds.networks import floating, group, network, port, router, rule_add

pytestmark = [pytest.mark.django_db, pytest.mark.processes]
OVN = NetworkBackendKind.OVN.value


def rows(central: Central, table: str, columns: str) -> list[list[object]]:
    found = json.loads(central.nb("--format=json", f"--columns={columns}", "list", table))["data"]
    return [[_value(cell) for cell in row] for row in found]


def _value(cell: object) -> object:
    match cell:
        case ["set", items]:
            return sorted(items)
        case ["map", pairs]:
            return dict(pairs)
        case _:
            return cell


def everything(central: Central) -> dict[str, object]:
    tables = ("Logical_Switch", "Logical_Switch_Port", "DHCP_Options", "Port_Group", "ACL", "Logical_Router", "NAT")
    return {table: json.loads(central.nb("--format=json", "list", table))["data"] for table in tables}


def tell(northbound: Northbound) -> None:
    while changes_sync(northbound):
        pass


def test_a_port_with_its_network_and_groups(configured: Central, northbound: Northbound, project: Project) -> None:
    net, web = network(kind=OVN, cidr="10.9.0.0/24", mtu=1442), group(project)
    rule_add(web, protocol="tcp", port_min=80, port_max=81)
    one = port(net, "hv1", address="10.9.0.7", groups=[web])
    networks_changed(ports=[one.pk])
    tell(northbound)
    columns = "name,addresses,port_security,enabled,options,dhcpv4_options"
    found = {row[0]: row[1:] for row in rows(configured, "Logical_Switch_Port", columns)}
    addresses, security, enabled, options, dhcp = found[str(one.pk)]
    assert (addresses, security, enabled) == (f"{one.mac} 10.9.0.7",) * 2 + (True,)
    assert options == {"requested-chassis": "hv1"}
    assert dhcp
    ((cidr, dhcp_options),) = rows(configured, "DHCP_Options", "cidr,options")
    assert cidr == "10.9.0.0/24"
    assert isinstance(dhcp_options, dict)
    assert (dhcp_options["router"], dhcp_options["mtu"]) == ("10.9.0.1", "1442")
    groups = {str(row[0]): row[1] for row in rows(configured, "Port_Group", "name,ports")}
    own = f"kn_{web.pk.hex}"
    assert groups[own] == groups["kn_drop"] != []
    matches = [row[0] for row in rows(configured, "ACL", "match") if f"@{own}" in str(row[0])]
    assert matches == [f"outport == @{own} && ip4 && tcp && tcp.dst >= 80 && tcp.dst <= 81"]
    assert not OvnChange.objects.exists()


def test_told_twice_nothing_changes(configured: Central, northbound: Northbound, project: Project) -> None:
    net, web = network(kind=OVN), group(project)
    ids = [port(net, "hv1", groups=[web]).pk for _ in range(3)]
    networks_changed(ports=ids)
    tell(northbound)
    before = everything(configured)
    networks_changed(ports=ids, networks=[net.pk], groups=[web.pk])
    tell(northbound)
    assert whole_sync(northbound) == 0
    assert everything(configured) == before


def test_a_port_that_goes_and_groups_that_change(configured: Central, northbound: Northbound, project: Project) -> None:
    net, web, ssh = network(kind=OVN), group(project), group(project)
    one, other = port(net, "hv1", groups=[web]), port(net, "hv2", groups=[web, ssh])
    networks_changed(ports=[one.pk, other.pk])
    tell(northbound)
    networks_changed(ports=[one.pk])
    Port.objects.filter(pk=one.pk).delete()
    other.groups.remove(web)
    networks_changed(ports=[other.pk], groups=[web.pk])
    tell(northbound)
    assert str(one.pk) not in configured.nb("lsp-list", str(net.pk))
    groups = {str(row[0]): row[1] for row in rows(configured, "Port_Group", "name,ports")}
    assert groups[f"kn_{web.pk.hex}"] == []
    assert groups[f"kn_{ssh.pk.hex}"] == groups["kn_drop"] != []


def test_a_rule_comes_and_goes(configured: Central, northbound: Northbound, project: Project) -> None:
    net, web = network(kind=OVN), group(project)
    networks_changed(ports=[port(net, "hv1", groups=[web]).pk])
    tell(northbound)
    before = everything(configured)
    added = rule_add(web, protocol="icmp", port_min=8)
    networks_changed(groups=[web.pk])
    tell(northbound)
    assert f"outport == @kn_{web.pk.hex} && ip4 && icmp4 && icmp4.type == 8" in configured.nb("list", "ACL")
    SecurityGroupRule.objects.filter(pk=added.pk).delete()
    networks_changed(groups=[web.pk])
    tell(northbound)
    assert everything(configured)["ACL"] == before["ACL"]


def test_a_router_with_floating_addresses(configured: Central, northbound: Northbound, project: Project) -> None:
    inside = network(kind=OVN, cidr="10.9.0.0/24")
    outside = network(kind=OVN, cidr="203.0.113.0/24", segment=None, physical_network="physnet1", is_external=True)
    guest = port(inside, "hv1", address="10.9.0.7")
    way = router(project, "", inside, external=outside)
    one = floating(project, outside, guest, way)
    networks_changed(networks=[inside.pk, outside.pk], routers=[way.pk])
    tell(northbound)
    nat = {str(row[0]): row[1:] for row in rows(configured, "NAT", "type,external_ip,logical_ip,logical_port")}
    assert nat["dnat_and_snat"] == [one.address, "10.9.0.7", str(guest.pk)]
    assert nat["snat"][1] == "10.9.0.0/24"
    assert "203.0.113.1" in configured.nb("lr-route-list", str(way.pk))
    assert {row[0] for row in rows(configured, "Gateway_Chassis", "chassis_name")} == {"hv1", "hv2"}
    one.refresh_from_db()
    assert one.status == "ACTIVE"

    # The port goes: its floating address must not stand for whoever gets its address next.
    networks_changed(ports=[guest.pk])
    FloatingIP.objects.filter(pk=one.pk).update(port=None, fixed_address=None, router=None)
    Port.objects.filter(pk=guest.pk).delete()
    tell(northbound)
    assert [row[0] for row in rows(configured, "NAT", "type")] == ["snat"]


def test_floating_addresses_of_a_router_without_a_way_out_are_in_error(
    configured: Central, northbound: Northbound, project: Project, settings: Settings
) -> None:
    given = settings.KILONOVA
    inside = network(kind=OVN, cidr="10.9.0.0/24")
    outside = network(kind=OVN, cidr="203.0.113.0/24", segment=None, physical_network="physnet1", is_external=True)
    way = router(project, "", inside, external=outside)
    one = floating(project, outside, port(inside, "hv1", address="10.9.0.7"), way)
    for chassis, status in (((), "ERROR"), (("hv1",), "ACTIVE")):
        settings.KILONOVA = {**given, "OVN_GATEWAY_CHASSIS": chassis}
        networks_changed(routers=[way.pk])
        tell(northbound)
        one.refresh_from_db()
        assert one.status == status


def test_what_differs_is_healed(configured: Central, northbound: Northbound, project: Project) -> None:
    net, web = network(kind=OVN), group(project)
    rule_add(web, protocol="tcp", port_min=22)
    one = port(net, "hv1", groups=[web])
    whole_sync(northbound)
    before = everything(configured)
    configured.nb("lsp-set-port-security", str(one.pk))
    configured.nb("acl-del", f"kn_{web.pk.hex}")
    configured.nb("clear", "port_group", "kn_drop", "ports")
    stray, tag = f"stray-{uuid4()}", f"external_ids:kilonova\\:key=network:{uuid4()}"
    configured.nb("ls-add", stray, "--", "set", "logical_switch", stray, tag)
    configured.nb("ls-add", "somebody-elses")
    assert whole_sync(northbound) == 3
    check = OvnCheck.objects.get(name=NORTHBOUND)
    assert any("port_security" in one for one in check.differences)
    assert Heal.objects.filter(kind="ovn_drift").count() == 1
    names = {row[0] for row in rows(configured, "Logical_Switch", "name")}
    assert names == {str(net.pk), "somebody-elses"}
    after = everything(configured)
    assert after["Logical_Switch_Port"] == before["Logical_Switch_Port"]
    assert whole_sync(northbound) == 0


def test_one_that_ovn_refuses_keeps_no_other_from_its_turn(configured: Central, northbound: Northbound) -> None:
    net = network(kind=OVN)
    taken, fine = port(net, "hv1"), port(net, "hv1")
    configured.nb("ls-add", "alien", "--", "lsp-add", "alien", str(taken.pk))
    networks_changed(ports=[taken.pk, fine.pk])
    tell(northbound)
    left = OvnChange.objects.get()
    assert (left.subject_id, left.attempts) == (taken.pk, 1)
    assert "name" in left.problem
    assert left.retry_at is not None
    assert str(fine.pk) in configured.nb("lsp-list", str(net.pk))
    configured.nb("ls-del", "alien")
    OvnChange.objects.update(retry_at=None)
    tell(northbound)
    assert str(taken.pk) in configured.nb("lsp-list", str(net.pk))
    assert not OvnChange.objects.exists()


def test_a_change_during_the_work_is_told_next(configured: Central, northbound: Northbound) -> None:
    """The rows are read after the changes: whoever changes one meanwhile leaves a change that stays."""
    net = network(kind=OVN)
    one = port(net, "hv1")
    networks_changed(ports=[one.pk])
    found = list(OvnChange.objects.all())
    Port.objects.filter(pk=one.pk).update(host="hv2")
    networks_changed(ports=[one.pk])
    OvnChange.objects.filter(pk__in=[each.pk for each in found]).delete()  # as the work on the first one ends
    tell(northbound)
    assert "hv2" in configured.nb("lsp-get-options", str(one.pk))


def test_changes_of_other_networks_are_not_noted(configured: Central) -> None:
    bridged = port(network(), "hv1")
    networks_changed(ports=[bridged.pk])
    assert not OvnChange.objects.exists()


def test_a_change_that_is_rolled_back_is_not_told(configured: Central) -> None:
    one = port(network(kind=OVN), "hv1")
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        networks_changed(ports=[one.pk])
        raise ZeroDivisionError
    assert not OvnChange.objects.exists()


def test_while_ovn_is_away_only_the_last_change_of_a_thing_is_kept(configured: Central) -> None:
    one = port(network(kind=OVN), "hv1")
    for _ in range(5):
        networks_changed(ports=[one.pk])
    assert changes_compact() == 4
    assert OvnChange.objects.count() == 1


def test_only_one_process_writes(configured: Central, northbound: Northbound) -> None:
    """A second connection waits for the lock, and whatever it tries is refused by the database itself."""
    second = Northbound.connect(ovn_options())
    try:
        assert not second.has_lock
        with pytest.raises(Unavailable):
            whole_sync(second)
    finally:
        second.close()
    assert northbound.has_lock


def test_everything_is_compared_when_asked_for(configured: Central, northbound: Northbound) -> None:
    net = network(kind=OVN)
    one = port(net, "hv1")
    ovn_whole_request()
    tell(northbound)
    assert str(one.pk) in configured.nb("lsp-list", str(net.pk))
    assert OvnCheck.objects.get(name=NORTHBOUND).checked_at is not None


def test_no_database_is_an_error_that_says_so(settings: Settings) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "OVN_NORTHBOUND": "unix:/nowhere/nb.sock"}
    with pytest.raises(Unavailable, match="/nowhere/nb"):
        Northbound.connect(ovn_options())


def test_statements_do_not_grow_with_ports(configured: Central, northbound: Northbound, project: Project) -> None:
    counts = []
    for many in (2, 20):
        net, web = network(kind=OVN), group(project)
        networks_changed(ports=[port(net, "hv1", groups=[web]).pk for _ in range(many)])
        with CaptureQueriesContext(connection) as queries:
            tell(northbound)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_states_are_those_of_ovn() -> None:
    one, other = port(network(kind=OVN), "hv1"), port(network(), "hv1")
    assert port_statuses_write({str(one.pk): True, str(other.pk): True, "nonsense": True}) == 1
    one.refresh_from_db()
    other.refresh_from_db()
    assert (one.status, other.status) == ("ACTIVE", "DOWN")
    assert port_statuses_write({str(one.pk): False}) == 1
