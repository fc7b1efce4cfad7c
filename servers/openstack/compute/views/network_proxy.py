"""Networks, floating addresses and security groups as Nova passed them on until 2.35."""

import uuid
from typing import Any

from django.http import HttpResponse

from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.faults import bad_request, not_found
from controlplane.openstack.schemas import CompiledSchema
from servers.models import FloatingIP, Network, SecurityGroup
from servers.networks.domain.rules import RuleRequest
from servers.networks.selectors.floating_ips import floating_ip_get, floating_ips_visible
from servers.networks.selectors.groups import group_get, groups_with_rules
from servers.networks.selectors.networks import network_get, networks_visible
from servers.networks.services.floating_ips import floating_ip_create, floating_ip_delete
from servers.networks.services.groups import (
    default_group_make,
    security_group_create,
    security_group_delete,
    security_group_update,
)
from servers.networks.services.rules import security_group_rule_create, security_group_rule_delete
from servers.openstack.compute.call import MAX_LIMIT, ComputeCall, uuid_of
from servers.openstack.compute.documents.security_groups import security_group_document
from servers.openstack.compute.faults import named_in_body, passed_on
from servers.openstack.compute.schemas.parts import MAYBE_TEXT, NAME, closed

# fmt: off
EMPTY_FIELDS = (
    "cidr", "netmask", "gateway", "broadcast", "dns1", "dns2", "cidr_v6", "gateway_v6", "netmask_v6", "created_at",
    "updated_at", "deleted_at", "deleted", "injected", "bridge", "vlan", "vpn_public_address", "vpn_public_port",
    "vpn_private_address", "dhcp_start", "project_id", "host", "bridge_interface", "multi_host", "priority",
    "rxtx_base", "mtu", "dhcp_server", "enable_dhcp", "share_address",
)
# fmt: on
"""What Nova's own networks said, and those of another service never did."""

_PORT = {"type": ["integer", "string", "null"], "pattern": "^-?[0-9]{1,5}$"}
GROUP_BODY = CompiledSchema(
    closed(["security_group"], security_group=closed(["name", "description"], name=NAME, description=MAYBE_TEXT))
)
RULE_BODY = CompiledSchema(
    closed(
        ["security_group_rule"],
        security_group_rule=closed(
            ["parent_group_id"],
            parent_group_id=NAME,
            ip_protocol={"type": ["string", "integer", "null"], "maxLength": 20},
            from_port=_PORT,
            to_port=_PORT,
            cidr=MAYBE_TEXT,
            group_id=MAYBE_TEXT,
        ),
    )
)
POOL_BODY = CompiledSchema({"anyOf": [{"type": "null"}, closed([], pool=MAYBE_TEXT)]})


def networks_list(call: ComputeCall) -> HttpResponse:
    """Those that the project may know of."""
    return call.answer({"networks": [_network(row) for row in networks_visible(call.caller)[:MAX_LIMIT]]})


def network_show(call: ComputeCall, network_id: str) -> HttpResponse:
    """One of them."""
    row = network_get(caller=call.caller, network_id=uuid_of(network_id, what="Network"))
    return call.answer({"network": _network(row)})


def tenant_networks_list(call: ComputeCall) -> HttpResponse:
    """The same in the form of another extension."""
    return call.answer({"networks": [_tenant_network(row) for row in networks_visible(call.caller)[:MAX_LIMIT]]})


def tenant_network_show(call: ComputeCall, network_id: str) -> HttpResponse:
    """One of them."""
    row = network_get(caller=call.caller, network_id=uuid_of(network_id, what="Network"))
    return call.answer({"network": _tenant_network(row)})


def _network(row: Network) -> dict[str, Any]:
    return {"id": str(row.pk), "label": row.name, **dict.fromkeys(EMPTY_FIELDS)}


def _tenant_network(row: Network) -> dict[str, Any]:
    return {"id": str(row.pk), "cidr": "None", "label": row.name}


def pools_list(call: ComputeCall) -> HttpResponse:
    """Networks that floating addresses are of."""
    rows = networks_visible(call.caller).filter(is_external=True)
    return call.answer({"floating_ip_pools": [{"name": row.name or str(row.pk)} for row in rows]})


def floating_ips_list(call: ComputeCall) -> HttpResponse:
    """Those of the project."""
    rows = floating_ips_visible(caller=call.caller).filter(project_id=call.caller.project_id)
    return call.answer({"floating_ips": [_floating_ip(row) for row in rows[:MAX_LIMIT]]})


def floating_ip_show(call: ComputeCall, floating_ip_id: str) -> HttpResponse:
    """One of them."""
    row = floating_ip_get(caller=call.caller, floating_ip_id=uuid_of(floating_ip_id, what="Floating IP"))
    return call.answer({"floating_ip": _floating_ip(row)})


def floating_ip_add(call: ComputeCall) -> HttpResponse:
    """One of the pool that is named, or of the only one."""
    pool = (call.body(POOL_BODY) or {}).get("pool") if call.request.body else None
    rows = list(networks_visible(call.caller).filter(is_external=True))
    found = [row for row in rows if pool in (None, row.name, str(row.pk))]
    if len(found) != 1:
        raise not_found("Floating IP pool not found." if not found else "There are several pools: name one.")
    made = floating_ip_create(caller=call.caller, network_id=found[0].pk)
    row = floating_ip_get(caller=call.caller, floating_ip_id=made.pk)
    return call.answer({"floating_ip": _floating_ip(row)})


def floating_ip_remove(call: ComputeCall, floating_ip_id: str) -> HttpResponse:
    """Given back."""
    floating_ip_delete(caller=call.caller, floating_ip_id=uuid_of(floating_ip_id, what="Floating IP"))
    return call.empty(status=202)


def _floating_ip(row: FloatingIP) -> dict[str, Any]:
    server = row.port.instance_uuid if row.port else None
    return {
        "id": str(row.pk),
        "ip": row.address,
        "pool": row.network.name or str(row.network_id),
        "fixed_ip": row.fixed_address,
        "instance_id": str(server) if server else None,
    }


def groups_list(call: ComputeCall) -> HttpResponse:
    """Those of the project; of all for administrators who say `all_tenants`."""
    rows = groups_with_rules(caller=call.caller)
    if not (call.caller.sees_all and call.query.get("all_tenants")):
        rows = rows.filter(project_id=call.caller.project_id)
    start = call.whole_number("offset", 0, maximum=10**9)
    found = list(rows[start : start + (call.limit() or MAX_LIMIT)])
    if not start and default_group_make(project_id=call.caller.own_project_id, found=found):
        found = list(rows[: call.limit() or MAX_LIMIT])
    return call.answer({"security_groups": [security_group_document(row) for row in found]})


def group_show(call: ComputeCall, group_id: str) -> HttpResponse:
    """One of them."""
    return call.answer({"security_group": _group(call, uuid_of(group_id, what="Security group"))})


def group_add(call: ComputeCall) -> HttpResponse:
    """A new one, into which nothing may come yet."""
    asked = call.named("security_group", GROUP_BODY)
    with passed_on():
        said = _described(asked)
        made = security_group_create(caller=call.caller, name=said["name"], description=said["description"])
    return call.answer({"security_group": _group(call, made.pk)})


def group_change(call: ComputeCall, group_id: str) -> HttpResponse:
    """Another name and description."""
    asked, known = call.named("security_group", GROUP_BODY), uuid_of(group_id, what="Security group")
    with passed_on():
        security_group_update(caller=call.caller, group_id=known, changes=_described(asked))
    return call.answer({"security_group": _group(call, known)})


def group_remove(call: ComputeCall, group_id: str) -> HttpResponse:
    """Gone, if nothing is in it any more."""
    with passed_on():
        security_group_delete(caller=call.caller, group_id=uuid_of(group_id, what="Security group"))
    return call.empty(status=202)


def _described(asked: dict[str, Any]) -> dict[str, str]:
    return {name: asked[name] or "" for name in ("name", "description")}


def _group(call: ComputeCall, group_id: uuid.UUID) -> dict[str, Any]:
    return security_group_document(group_get(caller=call.caller, group_id=group_id))


def rule_add(call: ComputeCall) -> HttpResponse:
    """Something more may come in."""
    asked = call.named("security_group_rule", RULE_BODY)
    parent = parse_uuid(asked["parent_group_id"])
    if parent is None:
        raise bad_request(f"Security group id {asked['parent_group_id']:.80} is no UUID.")
    group: SecurityGroup = group_get(caller=call.caller, group_id=parent)
    remote = parse_uuid(asked["group_id"]) if asked.get("group_id") else None
    if asked.get("group_id") and remote is None:
        raise bad_request(f"Security group id {asked['group_id']:.80} is no UUID.")
    ports = [None if asked.get(name) in (None, -1, "-1") else int(asked[name]) for name in ("from_port", "to_port")]
    cidr = asked.get("cidr") or ""
    wanted = RuleRequest(
        direction="ingress",
        ip_version=6 if ":" in cidr else 4,
        protocol=str(asked["ip_protocol"]) if asked.get("ip_protocol") not in (None, "-1", -1) else "",
        port_min=ports[0],
        port_max=ports[1],
        remote_cidr=cidr,
        remote_group_id=remote,
    )
    with named_in_body(), passed_on():
        made = security_group_rule_create(caller=call.caller, group_id=group.pk, rule=wanted)
    (shown,) = [one for one in _group(call, group.pk)["rules"] if one["id"] == str(made.pk)]
    return call.answer({"security_group_rule": shown})


def rule_remove(call: ComputeCall, rule_id: str) -> HttpResponse:
    """That may come in no more."""
    security_group_rule_delete(caller=call.caller, rule_id=uuid_of(rule_id, what="Security group rule"))
    return call.empty(status=202)
