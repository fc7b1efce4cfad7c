"""A host in safe mode gets no new instances: its agent says that the hypervisor's answers contradict each other."""

from controlplane.kernel.texts import phrase as _
from controlplane.work.heals import HOST_DISABLED, HOST_ENABLED, heal_record
from scheduling.fleet.services.automatic_disable import SAFE_MODE, disable_by, enable_by
from scheduling.models import Service


def safe_mode_follow(service: Service, reason: str) -> Service:
    """Disable or enable the host as its agent's word asks for, in the transaction of the registration."""
    switched = disable_by(service, SAFE_MODE, reason) if reason else enable_by(service, SAFE_MODE)
    if switched is None:
        return service
    if reason:
        heal_record(
            kind=HOST_DISABLED,
            subject=service.pk,
            found=f"Host {service.host} is in safe mode: {reason}",
            done=_("The host was disabled: new instances go elsewhere until its agent says that it is well."),
            evidence={"host": service.host, "safe_mode": reason},
        )
    else:
        heal_record(
            kind=HOST_ENABLED,
            subject=service.pk,
            found=_("Host {host} is no longer in safe mode.", host=service.host),
            done=_("The host was enabled: it gets new instances again."),
            evidence={"host": service.host, "safe_mode": service.disabled_reason.removeprefix(SAFE_MODE)},
        )
    return switched
