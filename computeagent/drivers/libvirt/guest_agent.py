"""What is asked of the agent inside a guest, over its channel. A guest is hostile: it may answer anything, or never."""

from typing import Any

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.binding import LibvirtError, error_text, is_of_guest_agent, is_unsupported
from computeagent.drivers.libvirt.domains import is_running
from computeagent.protocol.steps import FailureClass

ANSWER_TIMEOUT_S = 30


def password_set(domain: Any, *, user: str, password: str, timeout_s: int = ANSWER_TIMEOUT_S) -> None:
    """Have the agent set this user's password. Raises DriverError, of class USER for what is the guest's own fault."""
    if not is_running(domain):
        raise _of_guest("the guest is off, so nobody in it can set a password")
    try:
        domain.agentSetResponseTimeout(timeout_s)
        domain.setUserPassword(user, password)
    except LibvirtError as error:
        if not (is_of_guest_agent(error) or is_unsupported(error)):
            raise
        raise _of_guest(f"the guest's agent did not set the password of {user[:80]!r}: {error_text(error)}") from error


def _of_guest(message: str) -> DriverError:
    return DriverError(message, failure_class=FailureClass.USER)
