"""Reasons for which the control plane itself gives a host no new instances, for as long as what gave them holds.

As Nova's compute service does where its hypervisor is away, the service is disabled with a reason that says who did it,
and enabled again by the same. An operator's word stays as it is. The counter of failed builds gives way: it forgets by
and by, and would enable a host of which something else is wrong still; once that is over, it judges the host anew.
"""

from scheduling.fleet.services.build_failures import counter_gives_way
from scheduling.fleet.services.service_switch import service_switch
from scheduling.models import Service

LOCKED_OUT, SAFE_MODE = "AUTO: locked out: ", "AUTO: safe mode: "
"""What such a reason begins with."""


def disable_by(service: Service, source: str, reason: str) -> Service | None:
    """The service disabled for this reason, in the transaction that has its row locked. None: it was so before."""
    if service.disabled and not counter_gives_way(host=service.host):
        return None
    return service_switch(service.host, disabled=True, reason=source + reason)


def enable_by(service: Service, source: str) -> Service | None:
    """The service enabled, if it is this source that had it disabled, in the transaction that has its row locked."""
    if not service.disabled or not service.disabled_reason.startswith(source):
        return None
    return service_switch(service.host, disabled=False, reason="")
