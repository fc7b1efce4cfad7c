"""The JSON bodies of two rows, typed: what was asked of the scheduler, and the instance that has no row yet."""

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any

from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.codec import requests_from_list, requests_to_list
from servers.states import TaskState, VmState


@dataclass(frozen=True, slots=True)
class SpecBody:
    """What was asked for, as the request spec of each instance of a batch keeps it.

    `min_count`: how many of the batch must find a host; None: all. Empty text is no zone, no forced host, no node.
    """

    flavor: FlavorSnapshot
    image: ImageSnapshot
    pci_requests: tuple[PciRequest, ...] = ()
    availability_zone: str = ""
    force_host: str = ""
    force_node: str = ""
    hints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    group_id: uuid.UUID | None = None
    min_count: int | None = None

    @property
    def is_host_forced(self) -> bool:
        """Whether an admin named the host or the node."""
        return bool(self.force_host or self.force_node)

    def to_dict(self) -> dict[str, Any]:
        """The column's value."""
        return {
            "flavor": asdict(self.flavor),
            "image": asdict(self.image),
            "pci_requests": requests_to_list(self.pci_requests),
            "availability_zone": self.availability_zone,
            "force_host": self.force_host,
            "force_node": self.force_node,
            "hints": {name: list(values) for name, values in self.hints.items()},
            "group_id": str(self.group_id) if self.group_id else None,
            **({} if self.min_count is None else {"min_count": self.min_count}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "SpecBody":
        """The inverse of `to_dict`; what a row of before does not have was not asked for."""
        group_id, min_count = data.get("group_id"), data.get("min_count")
        return cls(
            flavor=FlavorSnapshot(**data["flavor"]),
            image=ImageSnapshot(**data["image"]),
            pci_requests=requests_from_list(data.get("pci_requests", ())),
            availability_zone=data.get("availability_zone") or "",
            force_host=data.get("force_host") or "",
            force_node=data.get("force_node") or "",
            hints={name: tuple(values) for name, values in data.get("hints", {}).items()},
            group_id=uuid.UUID(group_id) if group_id else None,
            min_count=None if min_count is None else int(min_count),
        )


@dataclass(frozen=True, slots=True)
class InstanceBody:
    """An instance as the API shows it until its row exists: columns of that row by name, and its tags.

    Those of OF_SCHEDULED_AGAIN are of an instance that is scheduled again: `created_at` is when it was made first.
    """

    id: uuid.UUID
    project_id: uuid.UUID
    user_id: uuid.UUID
    reservation_id: uuid.UUID | None
    name: str
    flavor: Mapping[str, Any]
    flavor_id: uuid.UUID | None
    vcpus: int
    memory_mib: int
    image: Mapping[str, Any]
    image_id: uuid.UUID | None
    root_gib: int = 0
    ephemeral_gib: int = 0
    swap_mib: int = 0
    description: str = ""
    hostname: str = ""
    availability_zone: str = ""
    vm_state: VmState = VmState.BUILDING
    task_state: TaskState = TaskState.SCHEDULING
    key_name: str = ""
    public_key: str = ""
    user_data: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    request_id: str = ""
    launch_index: int = 0
    generation: int = 0
    locked: bool = False
    locked_as: str = ""
    locked_by: str = ""
    locked_reason: str = ""
    protected: bool = False
    attempts: int = 0
    decision_id: uuid.UUID | None = None
    created_at: datetime | None = None

    def columns(self) -> dict[str, Any]:
        """The columns of the instance's row; tags and times are not among them."""
        names = (each.name for each in fields(self) if each.name not in ("tags", "created_at"))
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """The column's value. What only an instance that is scheduled again has is left out where it has none."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        for each in fields(self):
            if each.name in OF_SCHEDULED_AGAIN and found[each.name] == each.default:
                del found[each.name]
        return {name: _json(value) for name, value in found.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "InstanceBody":
        """The inverse of `to_dict`."""
        values = {each.name: data[each.name] for each in fields(cls) if each.name in data}
        for name in IDS & values.keys():
            values[name] = uuid.UUID(str(values[name])) if values[name] else None
        made_at = values.pop("created_at", None)
        return cls(
            **{
                **values,
                "vm_state": VmState(data["vm_state"]),
                "task_state": TaskState(data["task_state"]),
                "tags": tuple(data.get("tags", ())),
                "created_at": datetime.fromisoformat(made_at) if made_at else None,
            }
        )


IDS = frozenset({"id", "project_id", "user_id", "reservation_id", "flavor_id", "image_id", "decision_id"})
OF_SCHEDULED_AGAIN = frozenset(
    {
        "generation",
        "locked",
        "locked_as",
        "locked_by",
        "locked_reason",
        "protected",
        "attempts",
        "decision_id",
        "created_at",
    }
)


def _json(value: Any) -> Any:
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
