"""Moves of servers between hosts. There are none yet, so none is in any list."""

from django.http import HttpResponse

from controlplane.openstack.described import QueryNames
from controlplane.openstack.faults import bad_request, not_found
from controlplane.openstack.schemas import CompiledSchema
from servers.instances.selectors.instances import instance_get
from servers.openstack.compute.call import ComputeCall, uuid_of
from servers.openstack.compute.schemas.actions import NOTHING
from servers.openstack.compute.schemas.parts import closed_named

FORCE_COMPLETE = CompiledSchema(closed_named({"force_complete": NOTHING}, ["force_complete"]))
LIST_NAMES = QueryNames(
    {
        "hidden",
        "host",
        "instance_uuid",
        "source_compute",
        "status",
        "migration_type",
        "limit",
        "marker",
        "changes-since",
        "changes-before",
        "user_id",
        "project_id",
    }
)


def migrations_list(call: ComputeCall) -> HttpResponse:
    """Of all servers."""
    call.check_names(LIST_NAMES)
    if marker := call.query.get("marker"):
        raise bad_request(f"Marker {marker:.80} could not be found.")
    return call.answer({"migrations": []})


def server_migrations_list(call: ComputeCall, server_id: str) -> HttpResponse:
    """Those of one server that are on their way."""
    instance_get(caller=call.caller, instance_id=uuid_of(server_id, what="Instance"))
    return call.answer({"migrations": []})


def server_migration_absent(call: ComputeCall, server_id: str, migration_id: str) -> HttpResponse:
    """The server has none of this id, to show or to abort."""
    server = instance_get(caller=call.caller, instance_id=uuid_of(server_id, what="Instance"))
    raise not_found(f"Migration {migration_id:.80} not found for instance {server.pk}.")


def server_migration_act(call: ComputeCall, server_id: str, migration_id: str) -> HttpResponse:
    """Likewise, to force it to its end."""
    call.body(FORCE_COMPLETE)
    return server_migration_absent(call, server_id, migration_id)
