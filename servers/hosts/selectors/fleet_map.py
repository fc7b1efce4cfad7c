"""The map of the fleet as pages and API ask for it: filtered, grouped, with one measure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Invalid, InvalidFields
from controlplane.kernel.texts import phrase as _
from scheduling.filtersets import HostFilterSet
from scheduling.fleet.domain.fleet_map import Grouping, Heat, MapGroup, MapHost, map_groups, with_room
from scheduling.fleet.selectors.fleet_map import map_hosts
from scheduling.fleet.selectors.hosts import host_nodes
from servers.trials.host_room import room_by_node


@dataclass(frozen=True, slots=True)
class MapWanted:
    """What is asked of the map. `filters` are those of the list of hosts; `flavor` (id or name) goes with Heat.FITS."""

    heat: Heat = Heat.MEMORY
    grouping: Grouping = Grouping.ZONE
    flavor: str = ""
    filters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FleetMap:
    """The map. `hosts` are all nodes in natural order, once each; `flavor` is the name of the one that was counted."""

    hosts: tuple[MapHost, ...]
    groups: tuple[MapGroup, ...]
    heat: Heat
    grouping: Grouping
    flavor: str = ""


def map_wanted(heat: str, grouping: str, flavor: str, filters: Mapping[str, str]) -> MapWanted:
    """As texts ask for it; empty ones are the usual. Raises Invalid naming the field."""
    if heat and heat not in set(Heat):
        raise Invalid(_("heat is one of {heat}.", heat=", ".join(Heat)), field="heat")
    if grouping and grouping not in set(Grouping):
        raise Invalid(_("group is one of {grouping}.", grouping=", ".join(Grouping)), field="group")
    asked = Heat(heat) if heat else (Heat.FITS if flavor else Heat.MEMORY)
    if asked is Heat.FITS and not flavor:
        raise Invalid(_("heat fits wants a flavor."), field="flavor")
    if flavor and asked is not Heat.FITS:
        raise Invalid(_("A flavor goes with heat fits only."), field="flavor")
    return MapWanted(asked, Grouping(grouping) if grouping else Grouping.ZONE, flavor, filters)


def fleet_map(*, caller: Caller, wanted: MapWanted) -> FleetMap:
    """A constant number of queries. Raises InvalidFields for filters, Invalid for the flavor, PluginFailed."""
    found = HostFilterSet(dict(wanted.filters), queryset=host_nodes())
    if not found.is_valid():
        raise InvalidFields({name: [str(one) for one in texts] for name, texts in found.errors.items()})
    hosts, flavor = map_hosts(found.qs, wanted.heat), ""
    if wanted.heat is Heat.FITS:
        shot, rooms = room_by_node(caller=caller, flavor=wanted.flavor)
        hosts, flavor = with_room(hosts, rooms), shot.name
    groups = tuple(map_groups(hosts, wanted.grouping))
    return FleetMap(tuple(hosts), groups, wanted.heat, wanted.grouping, flavor)
