"""What projects may have of networks."""

from uuid import UUID

from django.db.models import Q

from controlplane.identity.domain import QuotaLimits
from controlplane.identity.selectors import limits_of_project, project_list, quota_defaults, quota_limits
from controlplane.kernel.errors import InvalidFields
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import not_found
from servers.networks.selectors.quota import network_quota_usage
from servers.networks.services.quota import network_quota_limit
from servers.openstack.network.call import NetworkCall, project_json
from servers.openstack.network.faults import invalid_input
from servers.openstack.network.schemas_routing import QUOTA_CHANGE, QUOTAS
from servers.openstack.network.shapes import (
    QuotaDetails,
    QuotaDetailsShown,
    QuotaJson,
    QuotaOfProject,
    QuotaShown,
    QuotasShown,
    QuotaUse,
)


def _quota_json(limits: QuotaLimits) -> QuotaJson:
    return {
        "floatingip": limits.floating_ips,
        "network": limits.networks,
        "port": limits.ports,
        "router": limits.routers,
        "security_group": limits.security_groups,
        "security_group_rule": limits.security_group_rules,
        "subnet": limits.subnets,
    }


def _use(limit: int, used: int) -> QuotaUse:
    return {"limit": limit, "used": used, "reserved": 0}


def quotas_list(call: NetworkCall) -> JsonAnswer[QuotasShown]:
    """Projects with limits of their own, for administrators."""
    own = Q()
    for name in QUOTAS.values():
        own |= Q(**{f"quota_{name}__isnull": False})
    defaults = quota_defaults()
    rows: list[QuotaOfProject] = [
        {**project_json(project.pk), **_quota_json(limits_of_project(project, defaults))}
        for project in project_list().filter(own).order_by("pk")
    ]
    return call.answer({"quotas": [call.chosen(row) for row in rows]})


def quota_show(call: NetworkCall, project_id: str) -> JsonAnswer[QuotaShown]:
    """The limits in force."""
    return call.answer({"quota": call.chosen(_quota_json(quota_limits(project_id=_project(call, project_id))))})


def quota_default(call: NetworkCall, project_id: str) -> JsonAnswer[QuotaShown]:
    """What a project has without limits of its own."""
    _project(call, project_id)
    return call.answer({"quota": call.chosen(_quota_json(quota_defaults()))})


def quota_details(call: NetworkCall, project_id: str) -> JsonAnswer[QuotaDetailsShown]:
    """The limits with what is in use. Nothing is ever reserved: what is asked for is there, or refused."""
    known = _project(call, project_id)
    limits, used = quota_limits(project_id=known), network_quota_usage(project_id=known)
    details: QuotaDetails = {
        "floatingip": _use(limits.floating_ips, used["floating_ips"]),
        "network": _use(limits.networks, used["networks"]),
        "port": _use(limits.ports, used["ports"]),
        "router": _use(limits.routers, used["routers"]),
        "security_group": _use(limits.security_groups, used["security_groups"]),
        "security_group_rule": _use(limits.security_group_rules, used["security_group_rules"]),
        "subnet": _use(limits.subnets, used["subnets"]),
    }
    return call.answer({"quota": call.chosen(details)})


def quota_change(call: NetworkCall, project_id: str) -> JsonAnswer[QuotaShown]:
    """What is left out stays. With `check_limit` no limit goes below what is in use, unless it is forced."""
    known = _project(call, project_id)
    asked = call.body(QUOTA_CHANGE)["quota"]
    limits = {ours: asked[theirs] for theirs, ours in QUOTAS.items() if theirs in asked}
    is_checked = asked.get("check_limit", False) and not asked.get("force", False)
    try:
        network_quota_limit(project_id=known, limits=limits, checks_use=is_checked)
    except InvalidFields as error:
        names = {ours: theirs for theirs, ours in QUOTAS.items()}
        raise invalid_input(names.get(error.field or "", "quota"), error.message) from error
    return call.answer({"quota": call.chosen(_quota_json(quota_limits(project_id=known)))})


def quota_reset(call: NetworkCall, project_id: str) -> Empty:
    """The installation's defaults are in force again."""
    limits = dict.fromkeys(QUOTAS.values())
    network_quota_limit(project_id=_project(call, project_id), limits=limits, checks_use=False)
    return call.empty()


def _project(call: NetworkCall, text: str) -> UUID:
    """One's own project; any for administrators. Raises Fault 404."""
    known = parse_uuid(text)
    if known is None or (known != call.caller.own_project_id and not call.caller.sees_all):
        raise not_found(f"Project {text:.80} could not be found.", code="ProjectNotFound")
    return known
