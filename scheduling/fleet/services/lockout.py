"""A host whose agent is locked out gets no new instances: nobody would build them.

As in safe mode, the service is disabled with a reason that says who did it, and enabled again by the same; a host that
an operator disabled stays as they left it.
"""

from django.db import transaction

from scheduling.fleet.services.service_switch import service_switch
from scheduling.models import COMPUTE_BINARY, Service

LOCKED_OUT = "AUTO: locked out: "
"""What the reason begins with that this module gives."""


def service_lock_out(*, host: str, reason: str) -> bool:
    """No new instances from now on. Returns whether that changed anything: not where it is disabled, or unknown."""
    with transaction.atomic():
        service = _locked(host)
        if service is None or service.disabled:
            return False
        service_switch(host, disabled=True, reason=LOCKED_OUT + reason)
    return True


def service_let_in(*, host: str) -> bool:
    """Its agent is let in again: new instances may come, if none but this module said they may not."""
    with transaction.atomic():
        service = _locked(host)
        if service is None or not service.disabled or not service.disabled_reason.startswith(LOCKED_OUT):
            return False
        service_switch(host, disabled=False, reason="")
    return True


def _locked(host: str) -> Service | None:
    return Service.objects.select_for_update().filter(host=host, binary=COMPUTE_BINARY).first()
