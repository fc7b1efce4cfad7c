"""What projects used in a time: of the caller's own, and of each for administrators."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django.http import HttpResponse

from controlplane.infra.db import db_now
from controlplane.kernel.errors import Forbidden
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.described import QueryNames
from controlplane.openstack.faults import bad_request
from servers.instances.selectors.usage import InstanceUse, instance_uses
from servers.openstack.call import micro_seconds
from servers.openstack.compute.call import ComputeCall

PAGES_SINCE = 40
LIST_NAMES = QueryNames({"start", "end", "detailed", "limit", "marker"})
ONE_NAMES = LIST_NAMES - {"detailed"}
FORMS = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S")


def usage_list(call: ComputeCall) -> HttpResponse:
    """Of all projects."""
    call.check_names(LIST_NAMES)
    start, end = _span(call)
    uses, links = _page(call, instance_uses(start=start, end=end, **_paging(call)), "os-simple-tenant-usage")
    by_project: dict[str, list[InstanceUse]] = {}
    for use in uses:
        by_project.setdefault(use.project_id.hex, []).append(use)
    shows_servers = call.query.get("detailed", "").lower() in {"1", "true"}
    shown = []
    for project, theirs in by_project.items():
        one = _document(project, theirs, start, end)
        if not shows_servers:
            del one["server_usages"]
        shown.append(one)
    return call.answer({"tenant_usages": shown, **({"tenant_usages_links": links} if links else {})})


def usage_show(call: ComputeCall, project_id: str) -> HttpResponse:
    """Of one project with its servers: the caller's own, unless an administrator asks. Empty where nothing ran."""
    call.check_names(ONE_NAMES)
    known = parse_uuid(project_id)
    if known != call.caller.own_project_id and not call.caller.sees_all:
        raise Forbidden("Policy doesn't allow usage of other projects to be read.")
    start, end = _span(call)
    if known is None:
        return call.answer({"tenant_usage": {}})
    found = instance_uses(start=start, end=end, project_id=known, **_paging(call))
    uses, links = _page(call, found, "os-simple-tenant-usage", project_id)
    shown = _document(known.hex, uses, start, end) if uses else {}
    return call.answer({"tenant_usage": shown, **({"tenant_usage_links": links} if links else {})})


def _paging(call: ComputeCall) -> dict[str, Any]:
    """One more than a page has tells that there is another one. Raises Fault 400."""
    if call.minor < PAGES_SINCE:
        return {}
    text = call.query.get("marker")
    after = parse_uuid(text) if text else None
    if text and after is None:
        raise bad_request(f"marker [{text:.80}] not found")
    return {"after": after, "limit": call.limit() + 1}


def _page(call: ComputeCall, uses: Iterable[InstanceUse], *path: str) -> tuple[list[InstanceUse], list[dict[str, str]]]:
    found = list(uses)
    limit = call.limit()
    if call.minor < PAGES_SINCE or len(found) <= limit or not limit:
        return found, []
    found = found[:limit]
    return found, call.next_links(found[-1].instance_id, *path)


def _span(call: ComputeCall) -> tuple[datetime, datetime]:
    """The time that is asked for: from now to now where nothing is said. Raises Fault 400."""
    now = db_now()
    start, end = _moment(call, "start", now), _moment(call, "end", now)
    if start > end:
        raise bad_request("Invalid start time. The start time cannot occur after the end time.")
    return start, end


def _moment(call: ComputeCall, name: str, default: datetime) -> datetime:
    text = call.query.get(name)
    if not text:
        return default
    for form in FORMS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise bad_request(f"Datetime is in invalid format: {text:.80}")


def _document(project: str, uses: list[InstanceUse], start: datetime, end: datetime) -> dict[str, Any]:
    return {
        "tenant_id": project,
        "server_usages": [_server(use) for use in uses],
        "total_hours": sum(use.hours for use in uses),
        "total_vcpus_usage": sum(use.vcpus * use.hours for use in uses),
        "total_memory_mb_usage": sum(use.memory_mib * use.hours for use in uses),
        "total_local_gb_usage": sum(use.disk_gib * use.hours for use in uses),
        "start": micro_seconds(start),
        "stop": micro_seconds(end),
    }


def _server(use: InstanceUse) -> dict[str, Any]:
    return {
        "instance_id": str(use.instance_id),
        "name": use.name,
        "tenant_id": use.project_id.hex,
        "flavor": use.flavor,
        "hours": use.hours,
        "vcpus": use.vcpus,
        "memory_mb": use.memory_mib,
        "local_gb": use.disk_gib,
        "started_at": micro_seconds(use.started_at),
        "ended_at": micro_seconds(use.ended_at),
        "state": use.state,
        "uptime": use.uptime_s,
    }
