"""Whatever services change of networks of kind OVN, OVN is told of it: no comparison finds anything that was not."""

import uuid
from typing import Any

import pytest

from computeagent.protocol.networks import AddressPair, NetworkBackendKind
from controlplane.identity.domain import Caller
from controlplane.identity.models import Project
from servers.models import OvnChange, SecurityGroup
from servers.networks.domain.networks import NetworkRequest
from servers.networks.domain.ports import PortRequest
from servers.networks.domain.rules import RuleRequest
from servers.networks.domain.subnets import SubnetRequest
from servers.networks.ovn.audit import ovn_audit
from servers.networks.ovn.northbound import Northbound
from servers.networks.ovn.sync import changes_sync
from servers.networks.services.bindings import instance_ports_bind, instance_ports_unbind
from servers.networks.services.floating_ips import (
    Target,
    floating_ip_associate,
    floating_ip_create,
    floating_ip_delete,
)
from servers.networks.services.groups import security_group_create, security_group_delete
from servers.networks.services.networks import network_create, network_delete, network_update
from servers.networks.services.port_changes import port_update
from servers.networks.services.ports import ports_create, ports_delete
from servers.networks.services.router_legs import router_interface_add, router_interface_remove
from servers.networks.services.routers import router_create, router_delete, router_update
from servers.networks.services.rules import security_group_rule_create, security_group_rule_delete
from servers.networks.services.subnets import subnet_create, subnet_delete, subnet_update
from tests.fixtures.ovn import Central

pytestmark = [pytest.mark.django_db, pytest.mark.processes]
OVN = NetworkBackendKind.OVN


def test_every_change_is_told(  # noqa: PLR0915 - one life of everything
    configured: Central, northbound: Northbound, project: Project, caller: Caller
) -> None:
    said: list[str] = []

    def synced(what: Any) -> Any:
        """Nothing differs once the noted changes are told."""
        while changes_sync(northbound):
            pass
        assert not OvnChange.objects.exists()
        found = ovn_audit().differences
        assert not found, (said, found)
        said.append(configured.nb("show"))
        return what

    inside = synced(network_create(caller=None, request=NetworkRequest(name="in", project_id=project.pk, kind=OVN)))
    subnet = synced(subnet_create(caller=None, request=SubnetRequest(inside.pk, "10.9.0.0/24")))
    six = synced(subnet_create(caller=None, request=SubnetRequest(inside.pk, "fd00:9::/64")))
    outside = network_create(
        caller=None,
        request=NetworkRequest(name="out", project_id=None, kind=OVN, is_external=True, physical_network="physnet1"),
    )
    synced(subnet_create(caller=None, request=SubnetRequest(outside.pk, "203.0.113.0/24", has_dhcp=False)))
    instance = uuid.uuid4()
    port, other = synced(
        ports_create(
            caller=None,
            requests=[
                PortRequest(network_id=inside.pk, project_id=project.pk, instance_uuid=instance),
                PortRequest(network_id=inside.pk, project_id=project.pk),
            ],
        )
    )
    assert str(port.pk) in said[-1]
    synced(instance_ports_bind(instance_uuid=instance, host="hv1"))
    assert configured.nb("lsp-get-options", str(port.pk)) == "requested-chassis=hv1"
    web = synced(security_group_create(caller=caller, name="web"))
    db = synced(security_group_create(caller=caller, name="db"))
    named = RuleRequest("ingress", 4, "tcp", 5432, 5432, remote_group_id=web.pk)
    synced(security_group_rule_create(caller=caller, group_id=db.pk, rule=named))
    rule = synced(
        security_group_rule_create(caller=caller, group_id=web.pk, rule=RuleRequest("ingress", 4, "tcp", 80, 80))
    )
    synced(port_update(caller=None, port_id=port.pk, changes={"group_ids": (web.pk,)}))
    pairs = (AddressPair("10.9.0.200"), AddressPair("fd00:9:1::/64"), AddressPair("192.0.2.0/25", "00:00:5e:00:01:01"))
    synced(port_update(caller=None, port_id=port.pk, changes={"allowed_pairs": pairs}))
    assert configured.nb("get", "Address_Set", f"kn_{web.pk.hex}_pairs_ip4", "addresses") == (
        '["10.9.0.200", "192.0.2.0/25"]'
    )
    synced(port_update(caller=None, port_id=port.pk, changes={"group_ids": (db.pk,)}))
    assert configured.nb("get", "Address_Set", f"kn_{web.pk.hex}_pairs_ip4", "addresses") == "[]"
    (address,) = [each for each in port.addresses if ":" not in each]
    assert f'inport == "{port.pk}"' in (said_of_it := configured.nb("acl-list", str(inside.pk)))
    assert f"!(ip4.src == {{{address}}})" in said_of_it
    synced(port_update(caller=None, port_id=port.pk, changes={"allowed_pairs": ()}))
    assert configured.nb("acl-list", str(inside.pk)) == ""
    synced(port_update(caller=None, port_id=port.pk, changes={"allowed_pairs": pairs[:1], "group_ids": (web.pk,)}))
    synced(port_update(caller=None, port_id=port.pk, changes={"is_enabled": False}))
    assert configured.nb("lsp-get-enabled", str(port.pk)) == "disabled"
    synced(port_update(caller=None, port_id=port.pk, changes={"is_enabled": True}))
    synced(security_group_rule_delete(caller=caller, rule_id=rule.pk))
    router = synced(router_create(caller=caller, external_network=outside.pk))
    synced(router_interface_add(caller=caller, router_id=router.pk, subnet_id=subnet.pk))
    synced(router_interface_add(caller=caller, router_id=router.pk, subnet_id=six.pk))
    floating = synced(floating_ip_create(caller=caller, network_id=outside.pk))
    synced(floating_ip_associate(caller=caller, floating_ip_id=floating.pk, target=Target(port.pk, port.addresses[0])))
    assert floating.address in configured.nb("lr-nat-list", str(router.pk))
    synced(router_update(caller=None, router_id=router.pk, changes={"has_snat": False}))
    synced(subnet_update(caller=None, subnet_id=subnet.pk, changes={"dns_servers": ["9.9.9.9"]}))
    synced(network_update(caller=None, network_id=inside.pk, changes={"is_enabled": False}))
    assert configured.nb("lsp-get-enabled", str(other.pk)) == "disabled"
    synced(ports_delete(port_ids=[port.pk, other.pk]))
    assert floating.address not in configured.nb("lr-nat-list", str(router.pk))
    synced(instance_ports_unbind(instance_uuid=instance))
    synced(floating_ip_delete(caller=caller, floating_ip_id=floating.pk))
    synced(router_interface_remove(caller=caller, router_id=router.pk, subnet_id=subnet.pk))
    synced(router_interface_remove(caller=caller, router_id=router.pk, subnet_id=six.pk))
    synced(router_delete(caller=caller, router_id=router.pk))
    synced(security_group_delete(caller=caller, group_id=web.pk))
    for each in (subnet, six):
        synced(subnet_delete(caller=None, subnet_id=each.pk))
    synced(network_delete(caller=None, network_id=inside.pk))
    names = configured.nb("--bare", "--columns=name", "list", "Port_Group").split()
    assert sorted(names) == sorted(["kn_drop", *(f"kn_{one.pk.hex}" for one in SecurityGroup.objects.all())])
    sets = configured.nb("--bare", "--columns=addresses", "list", "Address_Set").split()
    assert not sets, "the port is gone that might send from them"
    assert configured.nb("ls-list").count("\n") == 0
    assert not configured.nb("lr-list")
