"""A host whose agent is locked out gets no new instances: nobody would build them."""

from django.db import transaction

from scheduling.fleet.services.automatic_disable import LOCKED_OUT, disable_by, enable_by
from scheduling.models import COMPUTE_BINARY, Service


def service_lock_out(*, host: str, reason: str) -> bool:
    """No new instances from now on. Returns whether that changed anything: not where it is disabled, or unknown."""
    with transaction.atomic():
        service = _locked(host)
        return service is not None and disable_by(service, LOCKED_OUT, reason) is not None


def service_let_in(*, host: str) -> bool:
    """Its agent is let in again: new instances may come, if none but this module said they may not."""
    with transaction.atomic():
        service = _locked(host)
        return service is not None and enable_by(service, LOCKED_OUT) is not None


def _locked(host: str) -> Service | None:
    return Service.objects.select_for_update().filter(host=host, binary=COMPUTE_BINARY).first()
