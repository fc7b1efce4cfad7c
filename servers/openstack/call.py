"""One request to one of these doors."""

from dataclasses import dataclass
from datetime import datetime
from typing import overload

from controlplane.identity.domain import Caller
from controlplane.openstack.call import Call
from controlplane.openstack.faults import ApiFault


@dataclass(frozen=True, slots=True)
class ServersCall(Call):
    """A call with who makes it: nobody where no token is needed."""

    sender: Caller | None

    @property
    def caller(self) -> Caller:
        """Who calls. Raises Fault 401."""
        if self.sender is None:
            raise ApiFault(401, "The request you have made requires authentication.")
        return self.sender


@overload
def whole_seconds(moment: datetime) -> str: ...
@overload
def whole_seconds(moment: None) -> None: ...
def whole_seconds(moment: datetime | None) -> str | None:
    """As Nova and Glance write a moment: UTC with a Z and without fractions of a second."""
    return None if moment is None else f"{moment:%Y-%m-%dT%H:%M:%SZ}"


@overload
def micro_seconds(moment: datetime) -> str: ...
@overload
def micro_seconds(moment: None) -> None: ...
def micro_seconds(moment: datetime | None) -> str | None:
    """As Cinder, and Nova's older extensions, write a moment: UTC to the microsecond, and nothing that says so."""
    return None if moment is None else f"{moment:%Y-%m-%dT%H:%M:%S.%f}"
