"""What other services of a cloud tell of servers.

Here networks and volumes are of the same installation, and agents tell how guests are, so nothing waits for an event.
That addresses changed is true already when it is told, since they are read anew each time. Whatever would have to be
done because of an event is refused, one by one.
"""

from typing import Any

from django.http import HttpResponse

from controlplane.identity.domain import Role
from servers.instances.selectors.instances import instances_unknown
from servers.openstack.compute.call import ComputeCall, uuid_of
from servers.openstack.compute.schemas.services import EXTERNAL_EVENTS

TRUE_ALREADY = frozenset({"network-changed", "network-vif-plugged", "network-vif-unplugged", "network-vif-deleted"})


def events_tell(call: ComputeCall) -> HttpResponse:
    """Each with a code of its own: 200 as a whole if all went well, else 207."""
    asked = call.named("events", EXTERNAL_EVENTS)
    ids = [uuid_of(one["server_uuid"], what="Instance") for one in asked]
    unknown = set(instances_unknown(caller=call.caller, ids=ids, everywhere=call.caller.holds(Role.SERVICE)))
    shown: list[dict[str, Any]] = []
    for one, server_id in zip(asked, ids, strict=True):
        code = 404 if server_id in unknown else 200 if one["name"] in TRUE_ALREADY else 400
        status = one.get("status", "completed") if code == 200 else "failed"
        shown.append({**one, "status": status, "code": code})
    return call.answer({"events": shown}, status=200 if all(one["code"] == 200 for one in shown) else 207)
