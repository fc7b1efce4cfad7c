"""The Protocol of a hypervisor driver: idempotent verbs, named by instance uuid.

'Already so' is success everywhere: spawning a guest that runs, destroying one that is gone. A driver raises
`DriverError` with a failure class; anything else it raises counts as the host's fault.
"""

from collections.abc import Callable, Iterator
from typing import Protocol

from computeagent.protocol.guests import GuestCounters, GuestFacts, GuestOnHypervisor, GuestSpec
from computeagent.protocol.hosts import HostReport
from computeagent.protocol.steps import FailureClass

ImageSource = Callable[[], Iterator[bytes]]
GuestNotice = Callable[[str | None], None]
ProgressCallback = Callable[[str], None]


class DriverError(Exception):
    """A verb failed. `failure_class` says whose fault it is."""

    def __init__(self, message: str, *, failure_class: FailureClass = FailureClass.HOST) -> None:
        super().__init__(message)
        self.message = message
        self.failure_class = failure_class


class ForeignGuest(DriverError):
    """The hypervisor has a guest of this uuid that is not ours."""


class Driver(Protocol):
    """One hypervisor. Verbs may be called from several threads; a verb on one guest is called by one at a time."""

    def open(self) -> None:
        """Connect; called once, before anything else."""

    def close(self) -> None:
        """Let go of the connection. Guests keep running."""

    def watch(self, notice: GuestNotice) -> None:
        """From now on call `notice` with the uuid of each guest whose power state may have changed, ours or not, and
        with None when any may have (a connection that was lost and is back). Called after `open`; only
        the last `notice` counts.

        `notice` is called by threads of the driver, also for what its own verbs do: it returns at once and calls no
        verb. Events are a service, not a promise: who needs the truth looks at the guests now and then.
        """

    def host_report(self) -> HostReport:
        """What this hypervisor is and has now."""

    def prepare_image(self, guest: GuestSpec, source: ImageSource) -> None:
        """Have the image's base file in the cache, checksum verified. Two callers for one image wait for each other."""

    def prepare_disks(self, guest: GuestSpec) -> None:
        """Overlay, ephemeral and swap disks and the config drive of this guest; replaces half-made ones."""

    def spawn(self, guest: GuestSpec) -> GuestFacts:
        """Define and start the guest from its disks. A running guest of this uuid is a success."""

    def destroy(self, guest_uuid: str) -> None:
        """Stop and undefine the guest and remove every file of it. Nothing there is a success."""

    def start(self, guest: GuestSpec) -> GuestFacts:
        """Power on."""

    def stop(self, guest_uuid: str, *, grace_s: float) -> GuestFacts:
        """Power off: ask the guest first, pull the plug after `grace_s` seconds."""

    def hard_reboot(self, guest: GuestSpec) -> GuestFacts:
        """Power off and on, with a freshly made definition; memory that was saved is thrown away."""

    def pause(self, guest_uuid: str) -> GuestFacts:
        """Stand still, memory kept. Raises DriverError for a guest that does not run."""

    def unpause(self, guest_uuid: str) -> GuestFacts:
        """Run on after a pause. Raises DriverError for a guest that is off."""

    def suspend(self, guest_uuid: str) -> GuestFacts:
        """Save the memory on the host's disk and power off. Raises DriverError for a guest that is off."""

    def resume(self, guest: GuestSpec) -> GuestFacts:
        """Run on from the saved memory; power on where none was saved, as Nova does."""

    def facts(self, guest_uuid: str) -> GuestFacts | None:
        """Power state, addresses if known, console; None when there is no such guest."""

    def guests(self) -> list[GuestOnHypervisor]:
        """Every guest of ours on this hypervisor, running or not."""

    def guest_counters(self) -> dict[str, GuestCounters]:
        """What every guest of ours that is on has used, by uuid, asked of the hypervisor at once. A guest that does not
        answer is left out; a hypervisor that counts nothing has none.
        """

    def console_log(self, guest_uuid: str, *, max_bytes: int) -> bytes:
        """The end of the guest's serial log; empty when it has written nothing."""
