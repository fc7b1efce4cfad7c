"""Refusals at the door that are about the agent itself, whatever it asked for."""

from controlplane.kernel.errors import Conflict


class DoorRefused(Conflict):
    """The control plane takes nothing from this agent: its secret is refused, or it is too old or too new."""

    code = "door_refused"
    retryable = False


class SecretUnknown(DoorRefused):
    """The secret is nobody's there: it was revoked, its host was removed, or this is another control plane."""


class SecretTaken(Conflict):
    """The secret that is to be this host's is another host's already."""

    code = "secret_taken"
    retryable = False
