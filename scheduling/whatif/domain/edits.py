"""Changes of a fleet that are only imagined: what a run would say if a host were there, enabled or larger."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid5

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from placement.candidates import ProviderFacts
from placement.domain import InventoryUsage, capacity_of
from scheduling.domain.hosts.host_rows import HostRow
from scheduling.whatif.domain.world import World, with_provider

STATUS_DISABLED = "COMPUTE_STATUS_DISABLED"
MAX_ADDED = 1000


@dataclass(frozen=True, slots=True)
class RatioEdit:
    """Another overcommit of one resource class; on every host unless some are named."""

    resource_class: str
    ratio: float
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FreedEdit:
    """So much less in use of one resource class on one host."""

    host: str
    resource_class: str
    amount: int


@dataclass(frozen=True, slots=True)
class HostAddEdit:
    """`count` empty, enabled copies of a host: its size, traits, children, aggregates and shared pools."""

    like: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class AggregateEdit:
    """Changes of one aggregate (by name); metadata is merged, None removes a key."""

    name: str
    metadata: Mapping[str, str | None] = field(default_factory=dict)
    hosts_added: tuple[str, ...] = ()
    hosts_removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FleetEdits:
    """All edits of one trial. Applied in this order: removed, added, switched, freed, ratios, aggregates."""

    hosts_removed: tuple[str, ...] = ()
    hosts_added: tuple[HostAddEdit, ...] = ()
    hosts_enabled: tuple[str, ...] = ()
    hosts_disabled: tuple[str, ...] = ()
    hosts_up: tuple[str, ...] = ()
    freed: tuple[FreedEdit, ...] = ()
    allocation_ratios: tuple[RatioEdit, ...] = ()
    aggregates: tuple[AggregateEdit, ...] = ()

    def __bool__(self) -> bool:
        return self != NO_EDITS

    def plus(self, other: "FleetEdits") -> "FleetEdits":
        """These edits and the others."""
        names = self.__dataclass_fields__
        return FleetEdits(**{name: getattr(self, name) + getattr(other, name) for name in names})


NO_EDITS = FleetEdits()


def world_edited(world: World, edits: FleetEdits) -> World:
    """The world with these edits. Raises Invalid naming the field, for a host or aggregate that is not there."""
    if not edits:
        return world
    rows = {row.host: row for row in world.rows}
    _check_hosts(rows, edits.hosts_removed, "hosts_removed")
    draft = _Draft(world, {host: row for host, row in rows.items() if host not in edits.hosts_removed})
    for add in edits.hosts_added:
        draft.add(add)
    draft.switch(edits)
    for freed in edits.freed:
        draft.free(freed)
    for ratio in edits.allocation_ratios:
        draft.ratio(ratio)
    for aggregate in edits.aggregates:
        draft.aggregate(aggregate)
    return draft.world()


class _Draft:
    """A world in the making. Rows take their numbers from their providers at the end."""

    def __init__(self, before: World, rows: dict[str, HostRow]) -> None:
        self._before = before
        self._rows = rows
        self._aggregates = {one.name: one for one in before.aggregates}
        gone = {UUID(row.uuid) for row in before.rows if row.host not in rows}
        self._providers = {
            uuid: facts for uuid, facts in before.providers.items() if not gone or facts.root_uuid not in gone
        }

    def world(self) -> World:
        rows = tuple(with_provider(row, self._providers[UUID(row.uuid)]) for row in self._rows.values())
        return World(rows, tuple(self._aggregates.values()), self._providers, self._before.details)

    def add(self, edit: HostAddEdit) -> None:
        """Copies are called like the host, with +1, +2 behind it."""
        _check_hosts(self._before.by_host, (edit.like,), "hosts_added")
        if not 1 <= edit.count <= MAX_ADDED:
            raise Invalid(_("count is a whole number from 1 to {max_added}.", max_added=MAX_ADDED), field="hosts_added")
        original = self._before.by_host[edit.like]
        start = 1 + sum(host.startswith(f"{edit.like}+") for host in self._rows)
        for number in range(start, start + edit.count):
            self._copy(original, number)
        names = frozenset(f"{edit.like}+{number}" for number in range(start, start + edit.count))
        for name, one in self._aggregates.items():
            if edit.like in one.hosts:
                self._aggregates[name] = replace(one, hosts=one.hosts | names)

    def _copy(self, original: HostRow, number: int) -> None:
        name = f"{original.host}+{number}"
        root = UUID(original.uuid)
        for facts in self._tree(root):
            copy = _empty_copy(facts, number, is_root=facts.uuid == root)
            self._providers[copy.uuid] = copy
        self._rows[name] = replace(
            original,
            host=name,
            nodename=f"{original.nodename}+{number}",
            uuid=str(_copied(root, number)),
            enabled=True,
            up=True,
            status_detail="",
            disk_available_least_gib=None,
            num_io_ops=0,
            num_instances=0,
            failed_builds=0,
            instances=frozenset(),
        )

    def _tree(self, root: UUID) -> list[ProviderFacts]:
        fleet = self._before.fleet
        return [fleet.fact(row) for row in fleet.trees.rows_of(fleet.row_of[root])]

    def switch(self, edits: FleetEdits) -> None:
        """Enable, disable, bring up."""
        for field_name in ("hosts_enabled", "hosts_disabled", "hosts_up"):
            _check_hosts(self._rows, getattr(edits, field_name), field_name)
        for host in edits.hosts_enabled:
            self._row(host, enabled=True, status_detail="")
            self._mark(host, off=False)
        for host in edits.hosts_disabled:
            self._row(host, enabled=False, status_detail="disabled for the trial")
            self._mark(host, off=True)
        for host in edits.hosts_up:
            self._row(host, up=True)

    def free(self, edit: FreedEdit) -> None:
        """Less in use, never below nothing."""
        _check_hosts(self._rows, (edit.host,), "freed")
        usage = self._root(edit.host).inventories.get(edit.resource_class)
        if usage is None:
            raise Invalid(
                _("Host {host} has no {resource_class:.80}.", host=edit.host, resource_class=edit.resource_class),
                field="freed",
            )
        self._inventory(edit.host, edit.resource_class, replace(usage, used=max(0, usage.used - edit.amount)))

    def ratio(self, edit: RatioEdit) -> None:
        """Another overcommit; hosts without the class are left as they are."""
        _check_hosts(self._rows, edit.hosts, "allocation_ratios")
        for host in edit.hosts or tuple(self._rows):
            usage = self._root(host).inventories.get(edit.resource_class)
            if usage is not None:
                capacity = capacity_of(total=usage.total, reserved=usage.reserved, allocation_ratio=edit.ratio)
                changed = replace(usage, allocation_ratio=edit.ratio, capacity=capacity)
                self._inventory(host, edit.resource_class, changed)

    def aggregate(self, edit: AggregateEdit) -> None:
        """Hosts in and out, metadata merged."""
        one = self._aggregates.get(edit.name)
        if one is None:
            raise Invalid(_("There is no aggregate {edit:.80}.", edit=edit.name), field="aggregates")
        _check_hosts(self._rows, (*edit.hosts_added, *edit.hosts_removed), "aggregates")
        merged = {**one.metadata, **edit.metadata}
        self._aggregates[edit.name] = replace(
            one,
            hosts=one.hosts.union(edit.hosts_added).difference(edit.hosts_removed),
            metadata={key: value for key, value in merged.items() if value is not None},
        )
        for host in (*edit.hosts_added, *edit.hosts_removed):
            self._mirror(host)

    def _mirror(self, host: str) -> None:
        """Placement's aggregates of the host's provider follow those of the host, by the same uuids."""
        facts, ours = self._root(host), {UUID(one.uuid): one for one in self._aggregates.values()}
        remaining = facts.aggregates - ours.keys()
        inside = {uuid for uuid, one in ours.items() if host in one.hosts}
        self._providers[facts.uuid] = replace(facts, aggregates=frozenset(remaining | inside), rendered={})

    def _row(self, host: str, **changes: object) -> None:
        self._rows[host] = replace(self._rows[host], **changes)  # type: ignore[arg-type]  # fields by name

    def _root(self, host: str) -> ProviderFacts:
        return self._providers[UUID(self._rows[host].uuid)]

    def _mark(self, host: str, *, off: bool) -> None:
        """The trait by which Placement knows that a host is disabled."""
        facts = self._root(host)
        traits = facts.traits | {STATUS_DISABLED} if off else facts.traits - {STATUS_DISABLED}
        self._providers[facts.uuid] = replace(facts, traits=traits, rendered={})

    def _inventory(self, host: str, resource_class: str, usage: InventoryUsage) -> None:
        facts = self._root(host)
        inventories = {**facts.inventories, resource_class: usage}
        self._providers[facts.uuid] = replace(facts, inventories=inventories, rendered={})


def _check_hosts(known: Mapping[str, HostRow], named: Iterable[str], field_name: str) -> None:
    for host in named:
        if host not in known:
            raise Invalid(_("There is no host {host:.80}.", host=host), field=field_name)


def _copied(uuid: UUID, number: int) -> UUID:
    """Always the same for the same copy, so that a trial can be repeated."""
    return uuid5(uuid, f"copy {number}")


def _empty_copy(facts: ProviderFacts, number: int, *, is_root: bool) -> ProviderFacts:
    return replace(
        facts,
        uuid=_copied(facts.uuid, number),
        root_uuid=_copied(facts.root_uuid, number),
        parent_uuid=None if facts.parent_uuid is None else _copied(facts.parent_uuid, number),
        inventories={name: replace(usage, used=0) for name, usage in facts.inventories.items()},
        traits=facts.traits - {STATUS_DISABLED} if is_root else facts.traits,
        name=f"{facts.name}+{number}",
        rendered={},
    )
