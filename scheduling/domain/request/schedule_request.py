"""The request to the scheduler: a batch of like instances, with their flavor and image as they were then."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scheduling.domain.request.volume_needs import PoolRoom, VolumeNeed
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.numa.network import NetworkNeeds
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.pool import NumaPolicy

CHECK_TYPE_HINT = "_nova_check_type"


@dataclass(frozen=True, slots=True)
class GroupSnapshot:
    """A server group: members by instance uuid, hosts by service host name, as known at the time."""

    uuid: str
    policy: str
    rules: Mapping[str, Any] = field(default_factory=dict)
    members: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    name: str = ""

    @property
    def policies(self) -> list[str]:
        """The policy in Nova's older form."""
        return [self.policy]

    @property
    def max_server_per_host(self) -> int:
        """How many members one host may hold under anti-affinity; 1 unless a rule says more."""
        return int(self.rules.get("max_server_per_host", 1))


@dataclass(frozen=True, slots=True)
class Destination:
    """The host and/or node that is wanted, which is yet subject to all filters (unlike forced hosts).

    `cell` (uuid) is the one to stay in, or merely the preferred one where the move may cross cells.
    """

    host: str | None = None
    node: str | None = None
    cell: str | None = None
    allow_cross_cell_move: bool = False

    def allows(self, host: str, node: str) -> bool:
        """Whether these are the wanted host and node, to the letter."""
        return self.host in (None, host) and self.node in (None, node)


@dataclass(frozen=True, slots=True)
class RequestedNetwork:
    """A network that an instance shall be on. `segment_aggregates`: aggregates (uuid) of its segments, None if it has
    no segments. `is_remote_managed`: its port is one that the network's own hardware manages.
    """

    network_id: str
    segment_aggregates: tuple[str, ...] | None = None
    is_remote_managed: bool = False


@dataclass(frozen=True, slots=True)
class PortResources:
    """What a port asks of Placement beside the flavor, such as bandwidth: a group that one provider serves whole.

    `suffix` names the group; `amounts` are by resource class, `required` the traits of the provider, such as those of a
    physical network and of the kind of card.
    """

    suffix: str
    amounts: Mapping[str, int]
    required: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ScheduleRequest:
    """A batch of like instances to be placed, each on one host.

    `min_count` None means all or nothing; a number lets the batch succeed with at least that many. `num_alternates` is
    per instance (Nova: max_attempts - 1). `hints` are scheduler hints, each a tuple of text. `member_of` is a
    conjunction: the host must be in one aggregate (uuid) of each set. `retry` holds pairs of host and node that were
    tried in vain; only RetryFilter reads them. `pci_requests` come from the flavor's aliases and from ports,
    `networks` and `port_resources` are those of the ports. `root_required` and `root_forbidden` are traits of the
    compute node's own provider, which must be in none of `forbidden_aggregates`. Request filters add to these.
    `volumes` say which pools the host must reach.
    """

    request_id: str
    project_id: str
    user_id: str
    instance_uuids: tuple[str, ...]
    flavor: FlavorSnapshot
    image: ImageSnapshot = field(default_factory=ImageSnapshot)
    availability_zone: str | None = None
    ignore_hosts: tuple[str, ...] = ()
    force_hosts: tuple[str, ...] = ()
    force_nodes: tuple[str, ...] = ()
    requested_destination: Destination | None = None
    hints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    group: GroupSnapshot | None = None
    num_alternates: int = 0
    min_count: int | None = None
    is_bfv: bool = False
    required_traits: frozenset[str] = frozenset()
    forbidden_traits: frozenset[str] = frozenset()
    member_of: tuple[frozenset[str], ...] = ()
    retry: tuple[tuple[str, str], ...] = ()
    pci_requests: tuple[PciRequest, ...] = ()
    networks: NetworkNeeds = field(default_factory=NetworkNeeds)
    root_required: frozenset[str] = frozenset()
    root_forbidden: frozenset[str] = frozenset()
    forbidden_aggregates: frozenset[str] = frozenset()
    requested_networks: tuple[RequestedNetwork, ...] = ()
    port_resources: tuple[PortResources, ...] = ()
    volumes: tuple[VolumeNeed, ...] = ()

    @property
    def is_rebuild(self) -> bool:
        """Whether this only asks if the present host is still right for a new image (Nova's internal hint)."""
        return "rebuild" in self.hints.get(CHECK_TYPE_HINT, ())

    @property
    def is_forced(self) -> bool:
        """Whether hosts are forced, so that filters are skipped."""
        return bool(self.force_hosts or self.force_nodes) and not self.is_rebuild

    @property
    def min_instances(self) -> int:
        """How many instances must find a host for the batch to succeed."""
        return len(self.instance_uuids) if self.min_count is None else max(1, self.min_count)


def request_to_dict(request: ScheduleRequest) -> dict[str, Any]:
    """Plain JSON values, to be stored with a decision and replayed."""
    return {name: _plain(value) for name, value in _fields(request).items()}


def request_from_dict(data: Mapping[str, Any]) -> ScheduleRequest:
    """The inverse of `request_to_dict`."""
    destination, group, networks = data.get("requested_destination"), data.get("group"), data.get("networks", {})
    return ScheduleRequest(
        request_id=data["request_id"],
        project_id=data["project_id"],
        user_id=data["user_id"],
        instance_uuids=tuple(data["instance_uuids"]),
        flavor=FlavorSnapshot(**data["flavor"]),
        image=ImageSnapshot(**data["image"]),
        availability_zone=data.get("availability_zone"),
        ignore_hosts=tuple(data.get("ignore_hosts", ())),
        force_hosts=tuple(data.get("force_hosts", ())),
        force_nodes=tuple(data.get("force_nodes", ())),
        requested_destination=Destination(**destination) if destination else None,
        hints={name: tuple(values) for name, values in data.get("hints", {}).items()},
        group=_group_from_dict(group) if group else None,
        num_alternates=data.get("num_alternates", 0),
        min_count=data.get("min_count"),
        is_bfv=data.get("is_bfv", False),
        required_traits=frozenset(data.get("required_traits", ())),
        forbidden_traits=frozenset(data.get("forbidden_traits", ())),
        member_of=tuple(frozenset(one) for one in data.get("member_of", ())),
        retry=tuple((host, node) for host, node in data.get("retry", ())),
        pci_requests=tuple(_pci_request(one) for one in data.get("pci_requests", ())),
        networks=NetworkNeeds(frozenset(networks.get("physnets", ())), networks.get("tunneled", False)),
        root_required=frozenset(data.get("root_required", ())),
        root_forbidden=frozenset(data.get("root_forbidden", ())),
        forbidden_aggregates=frozenset(data.get("forbidden_aggregates", ())),
        requested_networks=tuple(_network_from_dict(one) for one in data.get("requested_networks", ())),
        port_resources=tuple(
            PortResources(one["suffix"], one["amounts"], frozenset(one["required"]))
            for one in data.get("port_resources", ())
        ),
        volumes=tuple(
            VolumeNeed(one["words"], {trait: PoolRoom(**room) for trait, room in one["pools"].items()}, one["gib"])
            for one in data.get("volumes", ())
        ),
    )


def _group_from_dict(data: Mapping[str, Any]) -> GroupSnapshot:
    return GroupSnapshot(**{**data, "members": tuple(data["members"]), "hosts": tuple(data["hosts"])})


def _pci_request(data: Mapping[str, Any]) -> PciRequest:
    specs = tuple(tuple((key, value) for key, value in spec) for spec in data["specs"])
    policy = data["numa_policy"]
    return PciRequest(**{**data, "specs": specs, "numa_policy": NumaPolicy(policy) if policy else None})


def _network_from_dict(data: Mapping[str, Any]) -> RequestedNetwork:
    aggregates = data.get("segment_aggregates")
    return RequestedNetwork(**{**data, "segment_aggregates": None if aggregates is None else tuple(aggregates)})


def _fields(thing: Any) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in thing.__dataclass_fields__}


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(part) for name, part in _fields(value).items()}
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value
