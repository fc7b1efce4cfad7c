"""Quotas of projects, the class that they fall back to, and the limits that a client may count on."""

from uuid import UUID

from controlplane.identity.selectors import project_get, quota_defaults, quota_limits
from controlplane.identity.services import project_update, quota_class_set
from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import bad_request, not_found
from servers.openstack.volume.access import VolumeAccess
from servers.openstack.volume.call import VolumeCall, uuid_of
from servers.openstack.volume.documents.quotas import NAMES, absolute_json, limits_asked, limits_json, usage_json
from servers.openstack.volume.schemas.bodies import QUOTA, QUOTA_CLASS
from servers.openstack.volume.shapes_installation import (
    ChangedVolumeQuotaClassShown,
    ChangedVolumeQuotaShown,
    VolumeLimitsShown,
    VolumeQuotaClassShown,
    VolumeQuotaShown,
    VolumeQuotaUseShown,
)
from servers.volumes.selectors.quota import volume_quota_usage

OF_PROJECTS_SINCE = 39
DEFAULT = "default"


def _project(call: VolumeCall, text: str) -> UUID:
    """One's own, or any for administrators. Raises Forbidden before it says whether there is such a project."""
    found = uuid_of(text, "Project")
    if found != call.caller.own_project_id:
        call.require(VolumeAccess.PROJECTS_READ)
    return found


def quota_show(call: VolumeCall, target: str) -> JsonAnswer[VolumeQuotaShown | VolumeQuotaUseShown]:
    """The limits of a project; with `usage` what it has, too."""
    call.check_names("usage")
    project_id = _project(call, target)
    limits = quota_limits(project_id=project_id)
    if call.flag("usage"):
        used = volume_quota_usage(project_id=project_id)
        return call.answer({"quota_set": {"id": target, **usage_json(limits, used)}})
    return call.answer({"quota_set": {"id": target, **limits_json(limits)}})


def quota_defaults_show(call: VolumeCall, target: str) -> JsonAnswer[VolumeQuotaShown]:
    """What a project has without limits of its own."""
    _project(call, target)
    return call.answer({"quota_set": {"id": target, **limits_json(quota_defaults())}})


def quota_change(call: VolumeCall, target: str) -> JsonAnswer[ChangedVolumeQuotaShown]:
    """Give a project limits of its own."""
    said = call.named("quota_set", QUOTA)
    project = project_get(project_id=_project(call, target))
    for name in ("tenant_id", "id"):
        if said.get(name, target) != target:
            raise bad_request(f"{name} is another project than that of the path.")
    project_update(project=project, **{f"quota_{name}": limit for name, limit in limits_asked(said).items()})  # type: ignore[arg-type]  # keys of ProjectFields
    return call.answer({"quota_set": limits_json(quota_limits(project_id=project.pk))})


def quota_reset(call: VolumeCall, target: str) -> Empty:
    """A project has the default limits again."""
    project = project_get(project_id=_project(call, target))
    project_update(project=project, **{f"quota_{ours}": None for ours in NAMES.values()})  # type: ignore[arg-type]  # keys of ProjectFields
    return call.empty(status=200)


def class_show(call: VolumeCall, name: str) -> JsonAnswer[VolumeQuotaClassShown]:
    """The class `default`; there is no other in force."""
    if name != DEFAULT:
        raise not_found(f"There is no quota class {name:.80}; the one that is in force is {DEFAULT}.")
    return call.answer({"quota_class_set": {"id": name, **limits_json(quota_defaults())}})


def class_change(call: VolumeCall, name: str) -> JsonAnswer[ChangedVolumeQuotaClassShown]:
    """Change some of its limits."""
    said = call.named("quota_class_set", QUOTA_CLASS)
    for key in ("class_name", "id"):
        if said.get(key, name) != name:
            raise bad_request(f"{key} is another class than that of the path.")
    return call.answer({"quota_class_set": limits_json(quota_class_set(name=name, limits=limits_asked(said)))})


def limits_show(call: VolumeCall) -> JsonAnswer[VolumeLimitsShown]:
    """What the project may have and has. There are no limits of how often something is asked."""
    call.check_names(*(["project_id", "tenant_id"] if call.minor >= OF_PROJECTS_SINCE else []))
    asked = call.query.get("project_id") or call.query.get("tenant_id")
    project_id = _project(call, asked) if asked else call.caller.project_id
    absolute = absolute_json(quota_limits(project_id=project_id), volume_quota_usage(project_id=project_id))
    return call.answer({"limits": {"rate": [], "absolute": absolute}})
