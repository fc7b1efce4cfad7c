"""Quotas of projects, of users in them, and of the class that all fall back to."""

import uuid
from collections.abc import Mapping
from dataclasses import asdict

from django.http import HttpResponse

from controlplane.identity.domain.quota import DEFAULT_CLASS, USER_LIMITS, narrower
from controlplane.identity.selectors import project_get, quota_defaults, quota_limits
from controlplane.identity.selectors.people import user_get
from controlplane.identity.services import quota_class_set, user_quota_reset
from controlplane.kernel.errors import Forbidden
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.described import QueryNames
from controlplane.openstack.faults import bad_request, not_found
from servers.catalog.selectors.quota import owner_quota_usage, quota_usage, user_quota_shown
from servers.catalog.services.quota import project_quota_limit, user_quota_limit
from servers.networks.selectors.quota import network_quota_usage
from servers.openstack.compute.call import ComputeCall
from servers.openstack.compute.faults import named_in_body
from servers.openstack.compute.quota_names import (
    NETWORKS_COUNTED,
    NETWORKS_UNTIL,
    amounts_by_nova,
    amounts_by_us,
    quota_class_names,
    quota_names,
)
from servers.openstack.compute.schemas.parts import is_yes
from servers.openstack.compute.schemas.quotas import quota_class_schema, quota_set_schema

USER_NAMES = QueryNames({"user_id"})


def quota_show(call: ComputeCall, project_id: str) -> HttpResponse:
    """What a project, or a user in it, may have."""
    project, user = _asked_for(call, project_id)
    return call.answer({"quota_set": {"id": project_id, **_limits(call, project, user)}})


def quota_defaults_show(call: ComputeCall, project_id: str) -> HttpResponse:
    """What it would have without limits of its own."""
    _asked_for(call, project_id)
    shown = amounts_by_nova(quota_names(call.minor), asdict(quota_defaults()))
    return call.answer({"quota_set": {"id": project_id, **shown}})


def quota_detail(call: ComputeCall, project_id: str) -> HttpResponse:
    """The same with what is in use; nothing is ever reserved."""
    project, user = _asked_for(call, project_id)
    used = amounts_by_nova(quota_names(call.minor), _used(call, project, user), missing=0)
    shown = {
        name: {"limit": limit, "in_use": used[name], "reserved": 0}
        for name, limit in _limits(call, project, user).items()
    }
    return call.answer({"quota_set": {"id": project_id, **shown}})


def quota_change(call: ComputeCall, project_id: str) -> HttpResponse:
    """Other limits, not below what is in use unless `force`."""
    asked = dict(call.named("quota_set", quota_set_schema(call.minor)))
    project, user = _asked_for(call, project_id)
    force = is_yes(asked.pop("force", False))
    limits: dict[str, int | None] = {**amounts_by_us(_whole(asked))}
    if user is None:
        project_quota_limit(project_id=project, limits=limits, force=force)
    else:
        user_quota_limit(project_id=project, user_id=user, limits=limits, force=force)
    return call.answer({"quota_set": _limits(call, project, user)})


def quota_reset(call: ComputeCall, project_id: str) -> HttpResponse:
    """No limits of its own any more."""
    project, user = _asked_for(call, project_id)
    if user is None:
        project_quota_limit(project_id=project, limits=dict.fromkeys(USER_LIMITS), force=True)
    else:
        user_quota_reset(project_id=project, user_id=user)
    return call.empty(status=202)


def quota_class_show(call: ComputeCall, name: str) -> HttpResponse:
    """The only class in force is `default`."""
    if name != DEFAULT_CLASS:
        raise not_found(f"There is no quota class {name:.80}; the one that is in force is {DEFAULT_CLASS}.")
    return call.answer({"quota_class_set": {"id": name, **_class(call)}})


def quota_class_change(call: ComputeCall, name: str) -> HttpResponse:
    """Other limits for all projects without limits of their own."""
    asked = call.named("quota_class_set", quota_class_schema(call.minor))
    quota_class_set(name=name, limits=amounts_by_us(_whole(asked)))
    return call.answer({"quota_class_set": _class(call)})


def _whole(asked: Mapping[str, int | str]) -> dict[str, int]:
    return {name: int(value) for name, value in asked.items()}


def _class(call: ComputeCall) -> dict[str, int]:
    return amounts_by_nova(quota_class_names(call.minor), asdict(quota_defaults()))


def _asked_for(call: ComputeCall, project_id: str) -> tuple[uuid.UUID, uuid.UUID | None]:
    """The project of the path and the user of the query.

    Raises Forbidden for another project, or another user, unless an administrator asks; Fault 400 for none.
    """
    call.check_names(USER_NAMES)
    project, user_text, own = parse_uuid(project_id), call.query.get("user_id"), call.caller
    user = parse_uuid(user_text) if user_text else None
    is_own = project == own.own_project_id and (user_text is None or user == own.user_id)
    if not own.sees_all and not is_own:
        raise Forbidden("Policy doesn't allow quotas of other projects and users to be used.")
    with named_in_body():
        if project is None or (user_text is not None and user is None):
            raise bad_request(f"{project_id:.80} is not a valid project, or {user_text} not a valid user.")
        project_get(project_id=project)
        if user is not None:
            user_get(user_id=user)
    return project, user


def _limits(call: ComputeCall, project: uuid.UUID, user: uuid.UUID | None) -> dict[str, int]:
    limits = asdict(quota_limits(project_id=project))
    if user is not None:
        own = user_quota_shown(project_id=project, user_id=user) or {}
        limits |= {name: narrower(limits[name], own.get(name)) for name in USER_LIMITS}
    return amounts_by_nova(quota_names(call.minor), limits)


def _used(call: ComputeCall, project: uuid.UUID, user: uuid.UUID | None) -> dict[str, int]:
    used = asdict(quota_usage(project_id=project, user_id=user))
    used |= owner_quota_usage(project_id=project, user_id=user)
    if call.minor <= NETWORKS_UNTIL:
        used |= network_quota_usage(project_id=project, names=NETWORKS_COUNTED)
    return used
