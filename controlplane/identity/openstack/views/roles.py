"""Roles, which are fixed, and domains, of which there is one."""

from typing import NoReturn

from controlplane.identity.domain import Role
from controlplane.identity.openstack.call import DOMAIN, IdentityCall, is_default_domain
from controlplane.identity.openstack.lookups import role_found
from controlplane.identity.openstack.project_json import role_json
from controlplane.identity.openstack.shapes import DomainJson, DomainShown, DomainsShown, RoleShown, RolesShown
from controlplane.openstack.answers import JsonAnswer
from controlplane.openstack.faults import ApiFault, not_found


def roles_list(call: IdentityCall) -> JsonAnswer[RolesShown]:
    """All of them; those of a domain are none."""
    name = call.query.get("name")
    found = [role.value for role in sorted(Role) if name in (None, role.value) and "domain_id" not in call.query]
    return call.answer({"roles": [role_json(call, one) for one in found], "links": call.list_links("roles")})


def role_show(call: IdentityCall, role_id: str) -> JsonAnswer[RoleShown]:
    """One of them."""
    return call.answer({"role": role_json(call, role_found(role_id).value)})


def role_fixed(call: IdentityCall) -> NoReturn:
    """A role more would mean nothing to any rule."""
    raise ApiFault(403, f"Roles are fixed here: {', '.join(Role)}.")


def domains_list(call: IdentityCall) -> JsonAnswer[DomainsShown]:
    """The only one."""
    name = call.query.get("name")
    found = [_domain(call)] if name is None or is_default_domain(name) else []
    return call.answer({"domains": found, "links": call.list_links("domains")})


def domain_show(call: IdentityCall, domain_id: str) -> JsonAnswer[DomainShown]:
    """By its id."""
    if domain_id != DOMAIN:
        raise not_found(f"Could not find domain: {domain_id:.80}.")
    return call.answer({"domain": _domain(call)})


def _domain(call: IdentityCall) -> DomainJson:
    return {
        "id": DOMAIN,
        "name": "Default",
        "description": "The only domain.",
        "enabled": True,
        "tags": [],
        "options": {},
        "links": {"self": call.absolute_url("v3", "domains", DOMAIN)},
    }
