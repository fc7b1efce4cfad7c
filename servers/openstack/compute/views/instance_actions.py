"""What was done to a server: the list, and one request with its steps."""

from django.db.models import Q
from django.http import HttpResponse

from controlplane.openstack.described import QueryNames
from controlplane.openstack.faults import bad_request, not_found
from servers.instances.selectors.instances import instance_actions, instance_ever
from servers.models import Instance
from servers.openstack.compute.call import ComputeCall, uuid_of
from servers.openstack.compute.documents.instance_actions import action_document, action_with_events
from servers.openstack.compute.lists.values import moment
from servers.openstack.compute.views.servers import server_found
from servers.openstack.paging import SortKey, page_after

OF_DELETED_SINCE, PAGES_SINCE, BEFORE_SINCE = 21, 58, 66
NEWEST_FIRST = (SortKey("started_at", is_descending=True),)


def known_names(minor: int) -> QueryNames:
    """Parameters of the list in this version."""
    pages = ("limit", "marker", "changes-since") if minor >= PAGES_SINCE else ()
    return QueryNames({*pages, *(("changes-before",) if minor >= BEFORE_SINCE else ())})


def _server(call: ComputeCall, server_id: str) -> Instance:
    if call.minor < OF_DELETED_SINCE:
        return server_found(call, server_id)
    return instance_ever(caller=call.caller, instance_id=uuid_of(server_id, what="Instance"))


def actions_list(call: ComputeCall, server_id: str) -> HttpResponse:
    """The newest first."""
    call.check_names(known := known_names(call.minor))
    rows = instance_actions(instance_id=_server(call, server_id).pk)
    if call.minor < PAGES_SINCE:
        return call.answer({"instanceActions": [action_document(call, one) for one in rows]})
    for name, lookup in (("changes-since", "gte"), ("changes-before", "lte")):
        if name in call.query and name in known:
            asked = moment(name, call.query.get(name, ""))
            ended = Q(**{f"finished_at__{lookup}": asked})
            rows = rows.filter(ended | Q(finished_at__isnull=True, **{f"started_at__{lookup}": asked}))
    marker = None
    if request_id := call.query.get("marker"):
        marker = instance_actions(instance_id=uuid_of(server_id, what="Instance")).filter(request_id=request_id).last()
        if marker is None:
            raise bad_request(f"marker [{request_id:.80}] not found")
    page, has_more = page_after(rows, NEWEST_FIRST, marker=marker, limit=call.limit())
    answer: dict[str, object] = {"instanceActions": [action_document(call, one) for one in page]}
    if has_more and page:
        answer["links"] = call.next_links(page[-1].request_id, "servers", server_id, "os-instance-actions")
    return call.answer(answer)


def action_show(call: ComputeCall, server_id: str, request_id: str) -> HttpResponse:
    """What one request did."""
    rows = instance_actions(instance_id=_server(call, server_id).pk)
    found = rows.filter(request_id=request_id).prefetch_related("events").first()
    if found is None:
        raise not_found(f"Action for request_id {request_id:.80} on instance {server_id:.40} not found")
    return call.answer({"instanceAction": action_with_events(call, found)})
