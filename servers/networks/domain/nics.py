"""Network interfaces of an instance that is yet to be built, as they were decided when it was asked for."""

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from computeagent.protocol.networks import NetworkBackendKind


@dataclass(frozen=True, slots=True)
class NicAsked:
    """One interface. Without `port_id` a port is made for it, with this address where one is named."""

    network_id: uuid.UUID
    port_id: uuid.UUID | None = None
    fixed_ip: str = ""
    tag: str = ""
    kind: NetworkBackendKind = NetworkBackendKind.HYPERVISOR

    @property
    def is_counted(self) -> bool:
        """Whether a port is made for it that a quota counts. What is in a network of a hypervisor's own lives and dies
        with its instance, whose number has a quota, and takes nothing of ours.
        """
        return self.port_id is None and self.kind is not NetworkBackendKind.HYPERVISOR

    def to_dict(self) -> dict[str, Any]:
        """As a row's JSON has it; what is empty is left out."""
        return {name: str(value) for name, value in asdict(self).items() if value}

    @classmethod
    def from_dict(cls, data: Mapping[str, str]) -> "NicAsked":
        """The inverse of `to_dict`."""
        port_id = data.get("port_id")
        return cls(
            network_id=uuid.UUID(data["network_id"]),
            port_id=uuid.UUID(port_id) if port_id else None,
            fixed_ip=data.get("fixed_ip", ""),
            tag=data.get("tag", ""),
            kind=NetworkBackendKind(data.get("kind", NetworkBackendKind.HYPERVISOR)),
        )


@dataclass(frozen=True, slots=True)
class InstanceNics:
    """The interfaces that one instance is to get on its host, from this place among its cards on. `group_ids` None: its
    project's default group.
    """

    instance_uuid: uuid.UUID
    project_id: uuid.UUID
    host: str
    nics: tuple[NicAsked, ...]
    group_ids: tuple[uuid.UUID, ...] | None = None
    first: int = 0
