"""Who can reach a port, asked of the rows: a constant number of queries, whatever hangs on the networks."""

import ipaddress
import uuid
from collections import defaultdict
from collections.abc import Collection, Sequence

from django.db.models import Q, QuerySet

from computeagent.protocol.networks import NetworkBackendKind, PortStatus
from computeagent.protocol.power import PowerState
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import InvalidFields
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import Translate, gettext_noop, in_english
from controlplane.kernel.texts import phrase as _
from servers.fields import whole_number_reasons
from servers.models import (
    FloatingIP,
    Instance,
    IPAllocation,
    Network,
    Port,
    PortGroup,
    Router,
    SecurityGroup,
    SecurityGroupRule,
    Subnet,
)
from servers.networks.domain.errors import PortNotFound
from servers.networks.domain.names import PortOwner
from servers.networks.domain.network_map import (
    FloatingFacts,
    GroupFacts,
    NetworkMap,
    PortFacts,
    RouterFacts,
    SubnetFacts,
    Trouble,
)
from servers.networks.domain.reachability import Reachability, Traffic, reach_from_network, reach_from_port
from servers.networks.domain.rules import (
    ANYWHERE,
    ICMPS,
    MAX_ICMP,
    MAX_PORT,
    WITH_PORTS,
    protocol_canonical,
)
from servers.networks.selectors.groups import rule_of_row
from servers.states import api_status, power_name

OUTSIDE = "outside"


def port_reachability(
    *,
    caller: Caller,
    port_id: uuid.UUID,
    source: str,
    protocol: str,
    port: int | None,
    translate: Translate = in_english,
) -> Reachability:
    """Whether `source` reaches the port: a port or an instance of the caller's by its id, an address, a range in CIDR
    form, or `outside`, which is all of IPv4 (of IPv6 for a port without IPv4). `translate` is for the reasons.

    Raises PortNotFound, InvalidFields.
    """
    to = _ports_visible(caller).filter(pk=port_id).first()
    if to is None:
        raise PortNotFound(_("Port {port_id} does not exist.", port_id=port_id))
    addresses = list(to.addresses)
    named = parse_uuid(source)
    sources, cidr = _sources(caller, named) if named else [], "" if named else _range_of(source, addresses)
    traffic = _traffic(protocol, port)
    world, facts = _facts(caller, [to, *sources], cidr, translate)
    if cidr:
        return reach_from_network(world, cidr, facts[to.pk], traffic)
    found = [reach_from_port(world, facts[one.pk], facts[to.pk], traffic) for one in sources]
    return min(found, key=lambda one: sum(not step.is_open for step in one.steps))


def _ports_visible(caller: Caller) -> QuerySet[Port]:
    rows = Port.objects.select_related("network")
    return rows if caller.sees_all else rows.filter(project_id=caller.project_id)


def _sources(caller: Caller, named: uuid.UUID) -> list[Port]:
    """Ports that the source names: itself, or those of an instance."""
    found = list(_ports_visible(caller).filter(Q(pk=named) | Q(instance_uuid=named)))
    if not found:
        raise InvalidFields({"from": [_("There is no port and no instance {named}.", named=named)]})
    return found


def _range_of(source: str, addresses: Sequence[str]) -> str:
    if source == OUTSIDE:
        versions = {ipaddress.ip_address(one).version for one in addresses}
        return ANYWHERE[6 if versions == {6} else 4]
    try:
        if "%" not in source:
            return str(ipaddress.ip_network(source, strict=False))
    except ValueError:
        pass
    reason = _(
        "{source!r:.60} is neither the id of a port or an instance, nor an address or a range, nor {outside}.",
        source=source,
        outside=OUTSIDE,
    )
    raise InvalidFields({"from": [reason]})


def _traffic(protocol: str, port: int | None) -> Traffic:
    found = protocol_canonical(protocol, 4)
    if not found:
        raise InvalidFields({"protocol": [_("{protocol!r:.40} is no protocol.", protocol=protocol)]})
    if port is None:
        return Traffic(found)
    if found in WITH_PORTS:
        reasons = whole_number_reasons(port, minimum=1, maximum=MAX_PORT)
    elif found in ICMPS:
        reasons = whole_number_reasons(port, minimum=0, maximum=MAX_ICMP)
    else:
        reasons = [_("{found} has no ports.", found=found)]
    if reasons:
        raise InvalidFields({"port": reasons})
    return Traffic(found, port)


def _facts(
    caller: Caller, ports: Sequence[Port], cidr: str, translate: Translate
) -> tuple[NetworkMap, dict[uuid.UUID, PortFacts]]:
    """What hangs on these ports, and they themselves. Routers that matter: those of their projects, those in their
    networks.
    """
    projects = {port.project_id for port in ports if port.project_id}
    near = Q(project__in=projects) | Q(ports__network__in={port.network_id for port in ports if port.network_id})
    routers = list(Router.objects.filter(near).distinct())
    legs = list(Port.objects.filter(router__in=routers))
    allocations: dict[uuid.UUID, dict[str, uuid.UUID]] = defaultdict(dict)
    taken = IPAllocation.objects.filter(port__in=[one.pk for one in (*ports, *legs)]).order_by("pk")
    for port_id, address, subnet_id in taken.values_list("port_id", "address", "subnet_id"):
        allocations[port_id][address] = subnet_id
    networks = {one.network_id for one in (*ports, *legs) if one.network_id}
    external = Network.objects.filter(pk__in=networks, is_external=True).values_list("pk", flat=True)
    floating = FloatingIP.objects.filter(port__in=ports)
    world = NetworkMap(
        subnets=_subnets(networks),
        routers={one.pk: _router(caller, one, legs, allocations, translate) for one in routers},
        groups=_groups(ports, cidr),
        floating=tuple(
            FloatingFacts(one.address, one.port_id, one.fixed_address or "", one.network_id, one.router_id)
            for one in floating
            if one.port_id
        ),
        external=frozenset(external),
        translate=translate,
    )
    return world, _ports(ports, allocations, translate)


def _subnets(networks: Collection[uuid.UUID]) -> dict[uuid.UUID, SubnetFacts]:
    return {
        row.pk: SubnetFacts(
            id=row.pk,
            network_id=row.network_id,
            cidr=row.cidr,
            gateway=row.gateway or "",
            routes={route["destination"]: route["nexthop"] for route in row.routes},
        )
        for row in Subnet.objects.filter(network__in=networks)
    }


def _router(
    caller: Caller,
    row: Router,
    legs: Sequence[Port],
    allocations: dict[uuid.UUID, dict[str, uuid.UUID]],
    translate: Translate,
) -> RouterFacts:
    mine = [leg for leg in legs if leg.router_id == row.pk]
    is_ours = caller.sees_all or row.project_id == caller.own_project_id
    name = str(row) if is_ours else translate(gettext_noop("of another project"))
    gateways = [leg for leg in mine if leg.owner == PortOwner.ROUTER_GATEWAY]
    return RouterFacts(
        id=row.pk,
        name=name,
        legs={
            address: subnet for leg in mine if leg not in gateways for address, subnet in allocations[leg.pk].items()
        },
        external_network_id=row.external_network_id,
        gateways=tuple(address for leg in gateways for address in allocations[leg.pk]),
        has_snat=row.has_snat,
        routes={route["destination"]: route["nexthop"] for route in row.routes},
        trouble=tuple(_router_trouble(caller, row, name, translate)),
    )


def _router_trouble(caller: Caller, row: Router, name: str, translate: Translate) -> list[Trouble]:
    found = []
    if not row.is_enabled:
        message = translate(gettext_noop("Router {router} is disabled.")).format(router=name)
        found.append(Trouble(message, translate(gettext_noop("Enable the router."))))
    if row.problem and caller.sees_all:
        message = translate(gettext_noop("Router {router} has a problem: {problem}"))
        found.append(Trouble(message.format(router=name, problem=row.problem)))
    elif row.problem:
        # The reason may name hosts.
        message = translate(gettext_noop("Router {router} has a problem, which administrators see."))
        found.append(Trouble(message.format(router=name), translate(gettext_noop("Ask an administrator."))))
    return found


def _groups(ports: Sequence[Port], cidr: str) -> dict[uuid.UUID, GroupFacts]:
    """The groups of the ports with their rules, and those that these name as remote, with those of the members that the
    question is about.
    """
    here = set(PortGroup.objects.filter(port__in=ports).values_list("group_id", flat=True))
    rules: dict[uuid.UUID, list[SecurityGroupRule]] = defaultdict(list)
    for row in SecurityGroupRule.objects.filter(group__in=here).order_by("created_at", "pk"):
        rules[row.group_id].append(row)
    remote = {row.remote_group_id for rows in rules.values() for row in rows if row.remote_group_id}
    about = Q(port__in=ports)
    if cidr and ipaddress.ip_network(cidr).num_addresses == 1:
        about |= Q(port__allocations__address=str(ipaddress.ip_network(cidr).network_address))
    members: dict[uuid.UUID, set[str]] = defaultdict(set)
    for group_id, address in PortGroup.objects.filter(about, group__in=remote).values_list(
        "group_id", "port__allocations__address"
    ):
        members[group_id].add(address)
    names = dict(SecurityGroup.objects.filter(pk__in=here | remote).values_list("pk", "name"))
    return {
        pk: GroupFacts(
            id=pk,
            name=name,
            rules=tuple(map(rule_of_row, rules[pk])),
            members=frozenset(members[pk]),
        )
        for pk, name in names.items()
    }


def _ports(
    ports: Sequence[Port], allocations: dict[uuid.UUID, dict[str, uuid.UUID]], translate: Translate
) -> dict[uuid.UUID, PortFacts]:
    instances = Instance.objects.in_bulk({port.instance_uuid for port in ports if port.instance_uuid})
    groups: dict[uuid.UUID, list[uuid.UUID]] = defaultdict(list)
    for port_id, group_id in (
        PortGroup.objects.filter(port__in=ports).order_by("group__name", "group").values_list("port_id", "group_id")
    ):
        groups[port_id].append(group_id)
    found = {}
    for port in ports:
        instance = instances.get(port.instance_uuid) if port.instance_uuid else None
        found[port.pk] = PortFacts(
            id=port.pk,
            network_id=port.network_id or uuid.UUID(int=0),
            label=instance.name if instance else translate(gettext_noop("port {port}")).format(port=port),
            addresses=allocations[port.pk],
            group_ids=tuple(groups[port.pk]),
            has_security=port.has_security,
            trouble=tuple(_trouble(port, instance, translate)),
        )
    return found


def _trouble(port: Port, instance: Instance | None, translate: Translate) -> list[Trouble]:
    """What is in the way at a port itself."""
    found = []
    port_name = translate(gettext_noop("Port {port}")).format(port=port)
    label = instance.name if instance else port_name

    def add(message: str, remedy: str = "", **values: object) -> None:
        found.append(Trouble(translate(message).format(name=label, **values), translate(remedy) if remedy else ""))

    if port.network is None or port.network.kind == NetworkBackendKind.HYPERVISOR.value:
        add(gettext_noop("{name} is in a network of its hypervisor's own: what reaches it there is not known here."))
    elif not port.network.is_enabled:
        disabled = gettext_noop("The network {network} of {name} is disabled.")
        add(disabled, gettext_noop("Enable the network."), network=port.network)
    if not port.is_enabled:
        add(gettext_noop("The port {port} of {name} is disabled."), gettext_noop("Enable the port."), port=port)
    if instance is None:
        if port.owner in (PortOwner.NOBODY, PortOwner.INSTANCE):
            nobody = gettext_noop("{name} belongs to no instance: nobody answers.")
            add(nobody, gettext_noop("Attach it to an instance."))
    elif instance.power_state != PowerState.RUNNING:
        status, power = api_status(instance.vm_state, instance.task_state), power_name(instance.power_state)
        still = gettext_noop("{name} does not run: its status is {status}, its power {power}.")
        add(still, gettext_noop("Start the instance."), status=status, power=power)
    elif port.status == PortStatus.ERROR.value:
        unplugged = gettext_noop("The host of {name} could not plug its port {port}.")
        add(unplugged, gettext_noop("Ask an administrator."), port=port)
    return found
