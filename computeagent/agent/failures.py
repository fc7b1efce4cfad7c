"""How work on this host can end badly, and whose fault it is."""

import traceback

from computeagent.drivers.base import DriverError
from computeagent.protocol.steps import BuildFailure, FailureClass, HostBlame
from controlplane.kernel.errors import KilonovaError

DETAILS_MAX_CHARS = 4000


class Refused(KilonovaError):
    """The agent itself refuses a step of a build, before any effect."""

    code = "refused_by_host"
    failure_class = FailureClass.HOST


class ComputeResourcesUnavailable(Refused):
    """The guest does not fit this machine; `message` has the numbers. Another host may do."""

    code = "compute_resources_unavailable"


class HostTopologyChanged(ComputeResourcesUnavailable):
    """The guest was placed on a NUMA cell, CPUs, pages or a device that this host does not have any more."""

    code = "host_topology_changed"


class GuestContradicts(Refused):
    """Flavor and image contradict each other: no host can build this guest."""

    code = "guest_contradicts"
    failure_class = FailureClass.USER


class GroupPolicyViolated(Refused):
    """The late server group check says no; not counted against the host."""

    code = "group_policy_violated"
    failure_class = FailureClass.POLICY


class NetworkRefused(Refused):
    """The ports of the guest cannot be plugged as they are described."""

    code = "network_refused"
    failure_class = FailureClass.NETWORK


class ImageRefused(Refused):
    """The control plane does not take the image: it was deleted, is over quota, or too large."""

    code = "image_refused"
    failure_class = FailureClass.USER


class StepFailed(KilonovaError):
    """A named step failed and its end is recorded; what remains is to clean up and to say so."""

    code = "step_failed"

    def __init__(self, failure: BuildFailure) -> None:
        super().__init__(f"{failure.step}: {failure.message}")
        self.failure = failure


class CleanupFailed(KilonovaError):
    """The host may still hold something of the guest: it must not be reported as released."""

    code = "cleanup_failed"
    retryable = True


def failure_of(step: str, error: DriverError | KilonovaError) -> BuildFailure:
    """What to report of `error`. A traceback goes into `details`, which only administrators see."""
    trace = "" if isinstance(error, Refused) else "".join(traceback.format_exception(error))
    said = getattr(error, "details", "")[: DETAILS_MAX_CHARS // 2]
    room = DETAILS_MAX_CHARS - len(said) - 1
    return BuildFailure(
        failure_class=getattr(error, "failure_class", FailureClass.HOST),
        step=step,
        message=error.message,
        details=f"{said}\n{trace[-room:]}" if said else trace[-DETAILS_MAX_CHARS:],
        blame=getattr(error, "blame", HostBlame.IF_BUILT_ELSEWHERE),
    )
