"""What operators say of a host: disabled (no new instances), forced down (dead, whatever it says)."""

from django.db import transaction
from django.db.models.functions import Now

from controlplane.kernel.errors import Invalid, NotFound
from scheduling.models import COMPUTE_BINARY, ComputeNode, Service
from scheduling.services.builds import operator_spoke
from scheduling.services.providers import node_status_disabled
from scheduling.services.service_notifications import CHANGE, services_told

REASON_MAX = 255


def service_disable(*, host: str, reason: str = "") -> Service:
    """No new instances on this host; what runs keeps running. Idempotent; a new reason replaces the old one."""
    if len(reason) > REASON_MAX or not (reason.isprintable() or not reason):
        raise Invalid(f"A reason has at most {REASON_MAX} printable characters.", field="reason")
    return _set_disabled(host, disabled=True, reason=reason.strip())


def service_enable(*, host: str) -> Service:
    """The host takes new instances again. Idempotent."""
    return _set_disabled(host, disabled=False, reason="")


def service_force_down(*, host: str, forced_down: bool) -> Service:
    """Declare the host dead (fencing device, operator), or take that back. It counts as down at once."""
    with transaction.atomic():
        return _updated(host, forced_down=forced_down)


def _set_disabled(host: str, *, disabled: bool, reason: str) -> Service:
    """Row and COMPUTE_STATUS_DISABLED trait in one transaction, so that Placement's clients see the same."""
    with transaction.atomic():
        service = _updated(host, disabled=disabled, disabled_reason=reason)
        operator_spoke(host=host, disabled=disabled)
        for node_id in ComputeNode.objects.filter(host=host).values_list("id", flat=True):
            node_status_disabled(node_id=node_id, disabled=disabled)
    return service


def _updated(host: str, **values: object) -> Service:
    rows = Service.objects.filter(host=host, binary=COMPUTE_BINARY)
    if not rows.update(**values, updated_at=Now()):
        raise NotFound(f"There is no compute service on host {host}.", field="host")
    service = rows.get()
    services_told(CHANGE, [service])
    return service
