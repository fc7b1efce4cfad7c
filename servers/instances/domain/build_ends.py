"""How a build that failed on a host goes on: the rule of each class of failure, and Nova's table of causes.

Source of the table: `nova.compute.manager.ComputeManager._do_build_and_run_instance` and `_build_and_run_instance`.
"""

from dataclasses import dataclass
from enum import StrEnum

from computeagent.protocol.steps import FailureClass


class BuildEnd(StrEnum):
    """Nova's three ends of a failed build."""

    RESCHEDULE = "reschedule"
    """The next host is tried while attempts are left."""
    ABORT = "abort"
    """It would fail everywhere: ERROR at once."""
    FAIL = "fail"
    """No host is tried and no ERROR is written: it is being deleted, or its agent is not done with it yet."""


@dataclass(frozen=True, slots=True)
class BuildFailureRule:
    """`end`: what follows. `counts_against_host`: whether the host's counter of failed builds may grow (`host_blame`).
    `words`: for the owner of the instance, who sees no host.
    """

    end: BuildEnd
    counts_against_host: bool
    words: str


FAILURE_RULES: dict[FailureClass, BuildFailureRule] = {
    FailureClass.HOST: BuildFailureRule(
        BuildEnd.RESCHEDULE, counts_against_host=True, words="The host could not build the instance"
    ),
    FailureClass.NETWORK: BuildFailureRule(
        BuildEnd.RESCHEDULE,
        counts_against_host=False,
        words="The network, the image or a volume did not reach the host",
    ),
    FailureClass.POLICY: BuildFailureRule(
        BuildEnd.RESCHEDULE, counts_against_host=False, words="The server group does not allow the chosen host"
    ),
    FailureClass.USER: BuildFailureRule(BuildEnd.ABORT, counts_against_host=False, words="The request cannot be built"),
}
"""What `servers.instances.services.build_outcome` goes by."""


@dataclass(frozen=True, slots=True)
class NovaCause:
    """One row of Nova's table. `failure` is the class that an agent reports for it; None: it is not reported at all.

    `differs` says why the end here is another one than Nova's; empty where it is the same.
    """

    cause: str
    exceptions: tuple[str, ...]
    nova: BuildEnd
    failure: FailureClass | None
    differs: str = ""

    @property
    def end(self) -> BuildEnd:
        """How it ends here."""
        return BuildEnd.FAIL if self.failure is None else FAILURE_RULES[self.failure].end


_R, _A, _F = BuildEnd.RESCHEDULE, BuildEnd.ABORT, BuildEnd.FAIL
_ELSEWHERE = "what one host's network refuses another may have; no host is blamed for it"
_ITS_DISK = "disks are made on the host itself: another one may have the room or the tool"

NOVA_CAUSES: tuple[NovaCause, ...] = (
    NovaCause("claim refused", ("ComputeResourcesUnavailable",), _R, FailureClass.HOST),
    NovaCause("group policy violated", ("GroupAffinityViolation",), _R, FailureClass.POLICY),
    NovaCause("anything else of the driver", ("Exception",), _R, FailureClass.HOST),
    NovaCause("no more addresses", ("NoMoreFixedIps",), _A, FailureClass.NETWORK, _ELSEWHERE),
    NovaCause(
        "network refused",
        (
            "ExternalNetworkAttachForbidden",
            "VirtualInterfaceCreateException",
            "VirtualInterfaceMacAddressException",
            "FixedIpInvalidOnHost",
            "UnableToAutoAllocateNetwork",
            "NetworksWithQoSPolicyNotSupported",
        ),
        _A,
        FailureClass.NETWORK,
        _ELSEWHERE,
    ),
    NovaCause("flavor too small", ("FlavorDiskTooSmall", "FlavorMemoryTooSmall"), _A, FailureClass.USER),
    NovaCause("image cannot be used", ("ImageNotActive", "ImageUnacceptable"), _A, FailureClass.USER),
    NovaCause("disk of the image is no disk", ("InvalidDiskInfo", "InvalidDiskFormat"), _A, FailureClass.USER),
    NovaCause(
        "image is not the one that was stored",
        ("SignatureVerificationError", "CertificateValidationFailed"),
        _A,
        FailureClass.NETWORK,
        "what is checked here is the checksum of the copy, which a second reading may find right",
    ),
    NovaCause("request contradicts itself", ("InvalidInput", "RequestedVRamTooHigh"), _A, FailureClass.USER),
    NovaCause("disks not prepared", ("InvalidBDM",), _A, FailureClass.HOST, _ITS_DISK),
    NovaCause(
        "volume cannot be encrypted",
        ("VolumeEncryptionNotSupported",),
        _A,
        FailureClass.HOST,
        "only hosts whose pool can encrypt are chosen: what one of them cannot do all the same, another one may",
    ),
    NovaCause(
        "clean-up after a failure failed",
        ("BuildAbortException",),
        _A,
        None,
        "nothing is reported while the host may hold something: the agent tries again until the work's deadline",
    ),
    NovaCause("deleted meanwhile", ("InstanceNotFound", "UnexpectedDeletingTaskStateError"), _F, None),
)
"""Nova's rows as far as there is the thing they are about: without accelerators, vTPM secrets,
tagged devices and PCI mappings of its own there is no such failure."""


def owner_words(failure: FailureClass, *, step: str, message: str) -> str:
    """What the owner reads: class and step. Of what an agent says, only what is wrong with the own request; all else
    may name hosts, paths and how large a host is.
    """
    said = f"{FAILURE_RULES[failure].words} (class {failure.value}, step {step})"
    return f"{said}: {message.removesuffix('.')}." if failure is FailureClass.USER else f"{said}."


def may_go_on(failure: FailureClass, *, attempts: int, attempts_allowed: int, is_host_forced: bool) -> bool:
    """Whether another host is tried: the class allows it, attempts are left, and no host was forced by the request."""
    is_left = attempts < attempts_allowed and not is_host_forced
    return is_left and FAILURE_RULES[failure].end is BuildEnd.RESCHEDULE
