"""Expected failures of the scheduler."""

from typing import ClassVar
from uuid import UUID

from controlplane.kernel.errors import Conflict, KilonovaError


class NoValidHost(KilonovaError):
    """No host can take the batch. `message` is safe for tenants; the decision has the rest."""

    code: ClassVar[str] = "no_valid_host"

    def __init__(self, message: str, *, decision_id: UUID) -> None:
        super().__init__(message, decision_id=str(decision_id))
        self.decision_id = decision_id


class ClaimsExhausted(NoValidHost):
    """Hosts fitted, but others took the room first, round after round. Trying again later may work."""

    code: ClassVar[str] = "claims_exhausted"
    retryable: ClassVar[bool] = True


class HostInUse(Conflict):
    """The host still holds instances or their resources; `extra` says how many."""

    code: ClassVar[str] = "host_in_use"
    retryable: ClassVar[bool] = False


class ZoneConflict(Conflict):
    """A host may be in one availability zone only; `extra` names host, its zone and the one asked for."""

    code: ClassVar[str] = "zone_conflict"
    retryable: ClassVar[bool] = False
