"""A page of servers: first those that have no row yet, then the rows, in the order that was asked for."""

from dataclasses import dataclass

from django.db.models import Q, QuerySet

from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.faults import ApiFault, bad_request
from servers.instances.selectors.instances import instances_ever, pending_instances
from servers.instances.selectors.pending import pending_instance
from servers.models import BuildRequest, Instance
from servers.openstack.compute.call import ComputeCall
from servers.openstack.compute.lists.filters import ServerFilter, filters_asked
from servers.openstack.compute.lists.values import flag
from servers.openstack.paging import SortKey, page_after

Asked = dict[str, tuple[ServerFilter, list[str]]]
SORT_COLUMNS = {
    "access_ip_v4": "access_ip_v4",
    "access_ip_v6": "access_ip_v6",
    "auto_disk_config": "disk_config",
    "availability_zone": "availability_zone",
    "config_drive": "config_drive",
    "created_at": "created_at",
    "display_description": "description",
    "display_name": "name",
    "host": "host",
    "hostname": "hostname",
    "image_ref": "image_id",
    "instance_type_id": "flavor_id",
    "key_name": "key_name",
    "launch_index": "launch_index",
    "launched_at": "launched_at",
    "locked": "locked",
    "locked_by": "locked_as",
    "node": "node",
    "power_state": "power_state",
    "project_id": "project_id",
    "task_state": "task_state",
    "terminated_at": "terminated_at",
    "updated_at": "updated_at",
    "user_id": "user_id",
    "uuid": "pk",
    "vm_state": "vm_state",
}
OF_ADMINISTRATORS = frozenset({"host", "node"})
LOCKED_SINCE = 73
NEWEST_FIRST = (SortKey("created_at", is_descending=True),)
REQUEST_ORDER = (SortKey("created_at", is_descending=True), SortKey("batch_index"))


@dataclass(frozen=True, slots=True)
class ServerPage:
    """`has_more`: there are others after the last one."""

    servers: list[Instance]
    has_more: bool


def servers_asked(call: ComputeCall) -> ServerPage:
    """The page that a list asks for. Raises Fault 400, 403."""
    asked, keys, limit = filters_asked(call), _sort_keys(call), call.limit()
    everywhere = _is_everywhere(call)
    rows = _rows(call, asked, instances_ever(caller=call.caller, all_projects=everywhere))
    rows = rows.prefetch_related(None)  # tags are read for the page that is shown
    requests = _requests(call, asked, pending_instances(caller=call.caller, all_projects=everywhere))
    marker = _marker(call, everywhere=everywhere)
    found: list[Instance] = []
    if requests is not None and not isinstance(marker, Instance):
        page, has_more = page_after(requests, REQUEST_ORDER, marker=marker, limit=limit)
        found = [pending_instance(one) for one in page]
        if has_more:
            return ServerPage(found, has_more)
        # One that gets its row between the two questions is shown once.
        rows = rows.exclude(pk__in=[one.pk for one in found]) if found else rows
    after = marker if isinstance(marker, Instance) else None
    more, has_more = page_after(rows, keys, marker=after, limit=limit - len(found))
    return ServerPage([*found, *more], has_more)


def _is_everywhere(call: ComputeCall) -> bool:
    """Whether all projects are meant: as in Nova, a project that is named does not say so by itself."""
    is_asked = "all_tenants" in call.query and flag("all_tenants", call.query.get("all_tenants", ""))
    if is_asked and not call.caller.sees_all:
        raise ApiFault(403, "Only administrators may list the servers of all projects.")
    return is_asked


def _deleted(call: ComputeCall, asked: Asked) -> bool | None:
    """Whether deleted servers are meant alone (True), not at all, or as well (None), as Nova has it."""
    statuses = {value.upper() for value in call.query.getlist("status")}
    if "DELETED" in statuses:
        if not call.caller.sees_all:
            raise ApiFault(403, "Only administrators may list deleted servers.")
        return True if statuses == {"DELETED"} else None
    if "deleted" in call.query:
        is_wanted = flag("deleted", call.query.get("deleted", ""))
        if is_wanted and not call.caller.sees_all:
            raise ApiFault(403, "Only administrators may list deleted servers.")
        return is_wanted
    return None if "changes-since" in asked else False


def _rows(call: ComputeCall, asked: Asked, rows: QuerySet[Instance]) -> QuerySet[Instance]:
    deleted = _deleted(call, asked)
    if deleted is not None:
        rows = rows.filter(deleted_at__isnull=not deleted)
    if deleted is False and not {"status", "vm_state", "soft_deleted"} & asked.keys():
        # They wait to be restored or forgotten; who wants to see them asks for them.
        rows = rows.exclude(vm_state="soft-delete")
    condition = Q()
    for name, (one, values) in asked.items():
        condition &= one.of_rows(call, name, values)
    return rows.filter(condition)


def _requests(call: ComputeCall, asked: Asked, rows: QuerySet[BuildRequest]) -> QuerySet[BuildRequest] | None:
    """None where no request can be meant."""
    if _deleted(call, asked) or any(one.of_requests is None for one, _ in asked.values()):
        return None
    condition = Q()
    for name, (one, values) in asked.items():
        condition &= one.of_requests(call, name, values) if one.of_requests else Q()
    return rows.filter(condition)


def _marker(call: ComputeCall, *, everywhere: bool) -> Instance | BuildRequest | None:
    """What the page before ended with. Raises Fault 400 for what the caller does not see."""
    text = call.query.get("marker")
    if not text:
        return None
    if (found := parse_uuid(text)) is not None:
        caller = call.caller
        row = instances_ever(caller=caller, all_projects=everywhere).filter(pk=found).first()
        if row is not None:
            return row
        request = pending_instances(caller=caller, all_projects=everywhere).filter(instance_uuid=found).first()
        if request is not None:
            return request
    raise bad_request(f"marker [{text:.80}] not found")


def _sort_keys(call: ComputeCall) -> tuple[SortKey, ...]:
    """In the order of the question; descending where it says nothing. Raises Fault 400, 403."""
    names, directions = call.query.getlist("sort_key"), call.query.getlist("sort_dir")
    if wrong := [one for one in directions if one not in ("asc", "desc")]:
        raise bad_request(f"Unknown sort direction {wrong[0]:.40}, must be one of: asc, desc")
    keys = []
    for number, name in enumerate(names):
        if name not in SORT_COLUMNS or (name == "locked" and call.minor < LOCKED_SINCE):
            raise bad_request(f"Servers are not sorted by {name:.40}.")
        if name in OF_ADMINISTRATORS and not call.caller.sees_all:
            raise ApiFault(403, f"Only administrators may sort servers by {name}.")
        direction = directions[min(number, len(directions) - 1)] if directions else "desc"
        keys.append(SortKey(SORT_COLUMNS[name], direction == "desc"))
    if not names and directions:
        return (SortKey("created_at", directions[0] == "desc"),)
    return tuple(keys) or NEWEST_FIRST
