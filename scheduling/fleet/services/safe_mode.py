"""A host in safe mode gets no new instances: its agent says that the hypervisor's answers contradict each other.

As Nova's compute service does where its hypervisor is away, the service is disabled with a reason that says who did it,
and enabled again by the same; a host that an operator disabled stays as he left it.
"""

from controlplane.kernel.texts import phrase as _
from controlplane.work.heals import HOST_DISABLED, HOST_ENABLED, heal_record
from scheduling.fleet.services.service_switch import service_switch
from scheduling.models import Service

AUTO = "AUTO: safe mode: "
"""What the reason begins with that this module gives."""


def safe_mode_follow(service: Service, reason: str) -> Service:
    """Disable or enable the host as its agent's word asks for, in the transaction of the registration."""
    if reason and not service.disabled:
        heal_record(
            kind=HOST_DISABLED,
            subject=service.pk,
            found=f"Host {service.host} is in safe mode: {reason}",
            done=_("The host was disabled: new instances go elsewhere until its agent says that it is well."),
            evidence={"host": service.host, "safe_mode": reason},
        )
        return service_switch(service.host, disabled=True, reason=AUTO + reason)
    if not reason and service.disabled and service.disabled_reason.startswith(AUTO):
        heal_record(
            kind=HOST_ENABLED,
            subject=service.pk,
            found=_("Host {host} is no longer in safe mode.", host=service.host),
            done=_("The host was enabled: it gets new instances again."),
            evidence={"host": service.host, "safe_mode": service.disabled_reason.removeprefix(AUTO)},
        )
        return service_switch(service.host, disabled=False, reason="")
    return service
