"""What operators say of a host: disabled (no new instances), forced down (dead, whatever it says)."""

from django.db import transaction

from controlplane.audit_log.recording.audited import audited
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.fleet.services.build_failures import operator_spoke
from scheduling.fleet.services.service_switch import REASON_MAX, nodes_follow, service_update
from scheduling.models import Service


@audited("host.disable", Service, by="host", key="host")
def service_disable(*, host: str, reason: str = "") -> Service:
    """No new instances on this host; what runs keeps running. Idempotent; a new reason replaces the old one."""
    if len(reason) > REASON_MAX or not (reason.isprintable() or not reason):
        raise Invalid(
            _("A reason has at most {reason_max} printable characters.", reason_max=REASON_MAX), field="reason"
        )
    return _set_disabled(host, disabled=True, reason=reason.strip())


@audited("host.enable", Service, by="host", key="host")
def service_enable(*, host: str) -> Service:
    """The host takes new instances again. Idempotent."""
    return _set_disabled(host, disabled=False, reason="")


@audited("host.force_down", Service, by="host", key="host")
def service_force_down(*, host: str, forced_down: bool) -> Service:
    """Declare the host dead (fencing device, operator), or take that back. It counts as down at once."""
    with transaction.atomic():
        return service_update(host, forced_down=forced_down)


def _set_disabled(host: str, *, disabled: bool, reason: str) -> Service:
    """Locks service, node and Placement's rows in this order, as the counter of failed builds does."""
    with transaction.atomic():
        service = service_update(host, disabled=disabled, disabled_reason=reason)
        operator_spoke(host=host, disabled=disabled)
        nodes_follow(host, disabled=disabled)
    return service
