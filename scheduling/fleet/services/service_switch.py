"""Changing a compute service: whoever does it, operator or counter, it is told, and Placement says the same."""

from django.db.models.functions import Now

from controlplane.audit_log.recording.actor_scope import CONTROL_PLANE, SYSTEM
from controlplane.audit_log.recording.record import AuditChange, AuditTarget, change_record
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from controlplane.work.hints import HOSTS, changed, host_topic
from scheduling.fleet.services.notifications import CHANGE, emit_service_updates
from scheduling.fleet.services.providers import node_status_disabled
from scheduling.models import COMPUTE_BINARY, ComputeNode, Service

REASON_MAX = 255


def service_switch(host: str, *, disabled: bool, reason: str) -> Service:
    """Disable or enable by the control plane itself: row and COMPUTE_STATUS_DISABLED, in the caller's transaction.

    The host's history says so. Raises NotFound.
    """
    service = service_update(host, disabled=disabled, disabled_reason=reason[:REASON_MAX])
    nodes_follow(host, disabled=disabled)
    verb, facts = ("disable", {"disabled_reason": service.disabled_reason}) if disabled else ("enable", {})
    change = AuditChange(f"host.{verb}", AuditTarget("host", str(service.pk), host), after=facts)
    change_record(change, actor=CONTROL_PLANE, door=SYSTEM)
    return service


def nodes_follow(host: str, *, disabled: bool) -> None:
    """Let Placement say of the host's nodes what its service says: after the locks of service and nodes."""
    for node_id in ComputeNode.objects.filter(host=host).values_list("id", flat=True):
        node_status_disabled(node_id=node_id, disabled=disabled)


def service_update(host: str, **values: object) -> Service:
    """Write these columns, and tell it. Raises NotFound."""
    rows = Service.objects.filter(host=host, binary=COMPUTE_BINARY)
    # PostgreSQL refuses a NUL in text; no host has one in its name.
    if "\0" in host or not rows.update(**values, updated_at=Now()):
        raise NotFound(_("There is no compute service on host {host}.", host=host[:255]), field="host")
    service = rows.get()
    emit_service_updates(CHANGE, [service])
    changed(HOSTS, host_topic(host))
    return service
