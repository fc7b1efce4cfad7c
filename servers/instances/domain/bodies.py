"""The JSON bodies of two rows, typed: what was asked of the scheduler, and the instance that has no row yet."""

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any

from scheduling.domain.request.schedule_request import PortResources
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.numa.network import NetworkNeeds
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.codec import requests_from_list, requests_to_list
from servers.networks.domain.nics import NicAsked
from servers.states import TaskState, VmState
from servers.volumes.domain.block_devices import BlockDevice, boots_from_volume


@dataclass(frozen=True, slots=True)
class SpecBody:
    """What was asked for, as the request spec of each instance of a batch keeps it.

    `min_count`: how many of the batch must find a host; None: all. Empty text is no zone, no forced host, no node.
    A requested host or node is the only one that comes into question for the build, and passes all filters, unlike a
    forced one; it binds no later move. `nics` None: the request is of a time when none could name a network, and gets
    the default one. `security_groups` None: ports that are made get their project's default group. `network_needs`:
    what networks the host must be near to; `carriers`: traits of hosts that carry them. `port_resources`: what the
    ports ask of Placement. `block_devices` None: the disks are those of flavor and image; else each of them.
    """

    flavor: FlavorSnapshot
    image: ImageSnapshot
    pci_requests: tuple[PciRequest, ...] = ()
    availability_zone: str = ""
    force_host: str = ""
    force_node: str = ""
    requested_host: str = ""
    requested_node: str = ""
    hints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    group_id: uuid.UUID | None = None
    min_count: int | None = None
    nics: tuple[NicAsked, ...] | None = None
    security_groups: tuple[uuid.UUID, ...] | None = None
    network_needs: NetworkNeeds = field(default_factory=NetworkNeeds)
    carriers: frozenset[str] = frozenset()
    port_resources: tuple[PortResources, ...] = ()
    block_devices: tuple[BlockDevice, ...] | None = None

    @property
    def is_bfv(self) -> bool:
        """Whether the root disk is a volume."""
        return boots_from_volume(self.block_devices or ())

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
            **({"requested_host": self.requested_host} if self.requested_host else {}),
            **({"requested_node": self.requested_node} if self.requested_node else {}),
            "hints": {name: list(values) for name, values in self.hints.items()},
            "group_id": str(self.group_id) if self.group_id else None,
            **({} if self.min_count is None else {"min_count": self.min_count}),
            **({} if self.nics is None else {"nics": [nic.to_dict() for nic in self.nics]}),
            **({} if self.security_groups is None else {"security_groups": list(map(str, self.security_groups))}),
            **(
                {"physnets": sorted(self.network_needs.physnets), "tunneled": self.network_needs.tunneled}
                if self.network_needs
                else {}
            ),
            **({"carriers": sorted(self.carriers)} if self.carriers else {}),
            **({"port_resources": list(map(_port_resources, self.port_resources))} if self.port_resources else {}),
            **({} if self.block_devices is None else {"block_devices": [one.to_dict() for one in self.block_devices]}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "SpecBody":
        """The inverse of `to_dict`; what a row of before does not have was not asked for."""
        group_id, min_count = data.get("group_id"), data.get("min_count")
        nics, groups, devices = data.get("nics"), data.get("security_groups"), data.get("block_devices")
        return cls(
            flavor=FlavorSnapshot(**data["flavor"]),
            image=ImageSnapshot(**data["image"]),
            pci_requests=requests_from_list(data.get("pci_requests", ())),
            availability_zone=data.get("availability_zone") or "",
            force_host=data.get("force_host") or "",
            force_node=data.get("force_node") or "",
            requested_host=data.get("requested_host") or "",
            requested_node=data.get("requested_node") or "",
            hints={name: tuple(values) for name, values in data.get("hints", {}).items()},
            group_id=uuid.UUID(group_id) if group_id else None,
            min_count=None if min_count is None else int(min_count),
            nics=None if nics is None else tuple(map(NicAsked.from_dict, nics)),
            security_groups=None if groups is None else tuple(map(uuid.UUID, groups)),
            port_resources=tuple(
                PortResources(one["suffix"], one["amounts"], frozenset(one["required"]))
                for one in data.get("port_resources", ())
            ),
            network_needs=NetworkNeeds(frozenset(data.get("physnets", ())), data.get("tunneled", False)),
            carriers=frozenset(data.get("carriers", ())),
            block_devices=None if devices is None else tuple(map(BlockDevice.from_dict, devices)),
        )


def _port_resources(one: PortResources) -> dict[str, Any]:
    return {"suffix": one.suffix, "amounts": dict(one.amounts), "required": sorted(one.required)}


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
    access_ip_v4: str = ""
    access_ip_v6: str = ""
    config_drive: bool = True
    has_default_network: bool = True
    disk_config: str = ""
    trusted_image_certificates: tuple[str, ...] = ()
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
                "trusted_image_certificates": tuple(data.get("trusted_image_certificates", ())),
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
