"""Services, for administrators: the agent of each host, under the name that Nova's agent has."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse

from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.described import QueryNames
from controlplane.openstack.faults import bad_request, not_found
from controlplane.work.control import Operator
from scheduling.fleet.selectors.liveness import ServiceRow, services_with_is_up
from scheduling.fleet.selectors.zones import default_zone, zones_by_host
from scheduling.fleet.services.service_states import service_disable, service_enable, service_force_down
from servers.hosts.services.removal import host_remove
from servers.openstack.call import micro_seconds
from servers.openstack.compute.call import ComputeCall
from servers.openstack.compute.numbers import number_in, number_of, numbered
from servers.openstack.compute.schemas.parts import is_yes
from servers.openstack.compute.schemas.services import SERVICE_CHANGE, SERVICE_FORCED, SERVICE_NAMED, SERVICE_REASON

FORCED_SINCE = 11
UUIDS_SINCE = 53
LIST_NAMES = QueryNames({"host", "binary"})


def services_list(call: ComputeCall) -> HttpResponse:
    """All, or those of a host or of a name."""
    call.check_names(LIST_NAMES)
    rows, zones = services_with_is_up(), zones_by_host()
    for name in LIST_NAMES & set(call.query):
        rows = rows.filter(**{name: call.query[name]})
    return call.answer({"services": [_document(call, row, zones) for row in rows]})


def service_enabled(call: ComputeCall) -> HttpResponse:
    """New instances may come again."""
    named = _named(call.body(SERVICE_NAMED))
    service_enable(host=named["host"])
    return call.answer({"service": {**named, "status": "enabled"}})


def service_disabled(call: ComputeCall) -> HttpResponse:
    """No new instances."""
    named = _named(call.body(SERVICE_NAMED))
    service_disable(host=named["host"])
    return call.answer({"service": {**named, "status": "disabled"}})


def service_disabled_with_reason(call: ComputeCall) -> HttpResponse:
    """The same, and why."""
    named = _named(call.body(SERVICE_REASON))
    service_disable(host=named["host"], reason=named["disabled_reason"])
    return call.answer({"service": {**named, "status": "disabled"}})


def service_forced(call: ComputeCall) -> HttpResponse:
    """Somebody says that the host is dead, or takes it back."""
    named = _named(call.body(SERVICE_FORCED))
    named["forced_down"] = is_yes(named["forced_down"])
    service_force_down(host=named["host"], forced_down=named["forced_down"])
    return call.answer({"service": named})


def _named(asked: dict[str, Any]) -> dict[str, Any]:
    """What a body says, if there is such a service. Raises Fault 404."""
    if not services_with_is_up().filter(host=asked["host"], binary=asked["binary"]).exists():
        raise not_found(f"Could not find binary {asked['binary']:.80} on host {asked['host']:.80}.")
    return asked


def service_change(call: ComputeCall, service_id: str) -> HttpResponse:
    """On, off with a reason, dead: what the body says of these."""
    asked = call.body(SERVICE_CHANGE)
    status, reason, forced = asked.get("status"), asked.get("disabled_reason"), asked.get("forced_down")
    if not asked:
        raise bad_request("No updates were requested. Fields 'status' or 'forced_down' should be specified.")
    if reason is not None and status != "disabled":
        raise bad_request("Specifying 'disabled_reason' requires that status is 'disabled'.")
    host = _found(call, service_id).host
    if status == "disabled":
        service_disable(host=host, reason=reason or "")
    elif status == "enabled":
        service_enable(host=host)
    if forced is not None:
        service_force_down(host=host, forced_down=is_yes(forced))
    return call.answer({"service": _document(call, _found(call, service_id), zones_by_host(hosts=[host]))})


def service_remove(call: ComputeCall, service_id: str) -> HttpResponse:
    """The host is removed with all that is known of it, if nothing hangs on it."""
    host = _found(call, service_id).host
    host_remove(host=host, operator=Operator(user_id=call.caller.user_id, name=call.caller.username))
    return call.empty()


def _found(call: ComputeCall, service_id: str) -> ServiceRow:
    if call.minor < UUIDS_SINCE:
        rows: QuerySet[ServiceRow] = services_with_is_up().filter(numbered(number_in(service_id, what="service id")))
    elif (pk := parse_uuid(service_id)) is not None:
        rows = services_with_is_up().filter(pk=pk)
    else:
        raise bad_request(f"Invalid uuid {service_id:.80}")
    row = rows.first()
    if row is None:
        raise not_found(f"Service {service_id:.80} could not be found.")
    return row


def _document(call: ComputeCall, row: ServiceRow, zones: dict[str, str]) -> dict[str, Any]:
    shown = {
        "id": str(row.pk) if call.minor >= UUIDS_SINCE else number_of(row.pk),
        "binary": row.binary,
        "host": row.host,
        "zone": zones.get(row.host, default_zone()),
        "status": "disabled" if row.disabled else "enabled",
        "state": "up" if getattr(row, "is_up", False) else "down",
        "updated_at": micro_seconds(row.last_seen_up or row.updated_at),
        "disabled_reason": row.disabled_reason or None,
    }
    return {**shown, "forced_down": row.forced_down} if call.minor >= FORCED_SINCE else shown
