"""Hypervisors, for administrators: one of each host."""

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse

from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.described import QueryNames
from controlplane.openstack.faults import ApiFault, bad_request, not_found
from scheduling.fleet.selectors.hosts import HostNode, host_nodes
from servers.instances.selectors.on_hosts import busy_by_host, instances_by_host
from servers.openstack.compute.call import ComputeCall
from servers.openstack.compute.documents.hypervisors import (
    UUIDS_SINCE,
    Servers,
    figures_of,
    hypervisor_document,
    hypervisor_short,
    uptime_of,
)
from servers.openstack.compute.numbers import number_in, number_of, numbered
from servers.openstack.compute.schemas.parts import is_yes
from servers.openstack.paging import SortKey, page_after

PAGES_SINCE = 33
LIST_NAMES = QueryNames({"limit", "marker", "hypervisor_hostname_pattern", "with_servers"})
WRITTEN_FLAGS = frozenset({"true", "false", "1", "0", "yes", "no", "on", "off"})
Document = Callable[[ComputeCall, list[HostNode], Servers | None], list[dict[str, Any]]]


def hypervisors_list(call: ComputeCall) -> HttpResponse:
    """Ids, names and states."""
    return _page(call, _short, "os-hypervisors")


def hypervisors_detail(call: ComputeCall) -> HttpResponse:
    """The same with all that is known of them."""
    return _page(call, _whole, "os-hypervisors", "detail")


def _page(call: ComputeCall, documents: Document, *path: str) -> HttpResponse:
    call.check_names(LIST_NAMES)
    rows, pattern = host_nodes(), call.query.get("hypervisor_hostname_pattern")
    if call.minor >= UUIDS_SINCE and pattern is not None:
        if {"limit", "marker"} & set(call.query):
            raise bad_request(
                "Paging over hypervisors with the hypervisor_hostname_pattern parameter is not supported."
            )
        return call.answer({"hypervisors": documents(call, _matching(rows, pattern), _servers_asked(call))})
    if call.minor < PAGES_SINCE:
        return call.answer({"hypervisors": documents(call, list(rows), None)})
    keys = [SortKey("host"), SortKey("hypervisor_hostname")]
    found, is_more = page_after(rows, keys, marker=_marker(call), limit=call.limit())
    answer: dict[str, Any] = {"hypervisors": documents(call, found, _servers_asked(call))}
    if is_more and found:
        last = found[-1].pk
        marker = last if call.minor >= UUIDS_SINCE else number_of(last)
        answer["hypervisors_links"] = call.next_links(marker, *path)
    return call.answer(answer)


def _short(call: ComputeCall, nodes: list[HostNode], servers: Servers | None) -> list[dict[str, Any]]:
    held = _servers_of(nodes, servers)
    return [hypervisor_short(call, node, held) for node in nodes]


def _whole(call: ComputeCall, nodes: list[HostNode], servers: Servers | None) -> list[dict[str, Any]]:
    held, busy = _servers_of(nodes, servers), busy_by_host([node.host for node in nodes])
    return [hypervisor_document(call, node, busy=busy, servers=held) for node in nodes]


def _servers_of(nodes: list[HostNode], asked: Servers | None) -> Servers | None:
    return None if asked is None else instances_by_host([node.host for node in nodes])


def _servers_asked(call: ComputeCall) -> Servers | None:
    """None where they are not wanted. Raises Fault 400 for what is no flag."""
    text = call.query.get("with_servers")
    if text is None or call.minor < UUIDS_SINCE:
        return None
    if text.lower() not in WRITTEN_FLAGS:
        raise bad_request(f"Invalid input for query parameters with_servers. Value: {text:.80}. It is no boolean.")
    return {} if is_yes(text) else None


def _marker(call: ComputeCall) -> HostNode | None:
    text = call.query.get("marker")
    if text is None:
        return None
    row = _row(call, text)
    if row is None:
        raise bad_request(f"marker [{text:.80}] not found")
    return row


def _row(call: ComputeCall, text: str) -> HostNode | None:
    """By its uuid, or its number below 2.53. Raises Fault 400 for what is neither."""
    if call.minor < UUIDS_SINCE:
        return host_nodes().filter(numbered(number_in(text, what="hypervisor id"))).first()
    pk = parse_uuid(text)
    if pk is None:
        raise bad_request(f"Invalid uuid {text:.80}")
    return host_nodes().filter(pk=pk).first()


def _found(call: ComputeCall, hypervisor_id: str) -> HostNode:
    """Raises Fault 404: also for what is no number, as Nova did below 2.53."""
    is_number = hypervisor_id.isascii() and hypervisor_id.isdecimal()
    row = None if call.minor < UUIDS_SINCE and not is_number else _row(call, hypervisor_id)
    if row is None:
        raise not_found(f"Hypervisor with ID '{hypervisor_id:.80}' could not be found.")
    return row


def _matching(rows: QuerySet[HostNode], pattern: str) -> list[HostNode]:
    found = list(rows.filter(hypervisor_hostname__contains=pattern))
    if not found:
        raise not_found(f"No hypervisor matching '{pattern:.80}' could be found.")
    return found


def hypervisor_show(call: ComputeCall, hypervisor_id: str) -> HttpResponse:
    """One of them."""
    call.check_names(QueryNames({"with_servers"}))
    (shown,) = _whole(call, [_found(call, hypervisor_id)], _servers_asked(call))
    return call.answer({"hypervisor": shown})


def hypervisors_statistics(call: ComputeCall) -> HttpResponse:
    """What all of them have together; of those that are disabled nothing counts, as in Nova."""
    nodes = list(host_nodes().filter(service__disabled=False))
    return call.answer({"hypervisor_statistics": {"count": len(nodes), **figures_of(nodes, busy_by_host())}})


def hypervisor_uptime(call: ComputeCall, hypervisor_id: str) -> HttpResponse:
    """For how long its host is up. Raises Fault 400 where the host is down, 501 where it does not say so."""
    node = _found(call, hypervisor_id)
    shown, uptime = hypervisor_short(call, node), uptime_of(node)
    if shown["state"] == "down":
        raise bad_request(f"Compute service of {node.host} is unavailable at this time.")
    if uptime is None:
        raise ApiFault(501, "Virt driver does not implement uptime function.")
    return call.answer({"hypervisor": {**shown, "uptime": uptime}})


def hypervisors_search(call: ComputeCall, hypervisor_id: str) -> HttpResponse:
    """Those whose names have this in them."""
    return call.answer({"hypervisors": _short(call, _matching(host_nodes(), hypervisor_id), None)})


def hypervisors_servers(call: ComputeCall, hypervisor_id: str) -> HttpResponse:
    """The same with their servers, of those that have any."""
    nodes = _matching(host_nodes(), hypervisor_id)
    shown = _short(call, nodes, {})
    for one in shown:
        if not one["servers"]:
            del one["servers"]
    return call.answer({"hypervisors": shown})
