"""Who can reach a port, and why not: the whole chain of reasons. Values only.

What is looked at: whether both ends are up, the way there and back, what the source's groups let out and what the
destination's let in. Not looked at: what the guests themselves do, such as a firewall of theirs or a service that does
not listen.
"""

import ipaddress
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from computeagent.protocol.networks import Direction
from controlplane.kernel.texts import Translate, gettext_noop, in_english
from servers.networks.domain.network_map import (
    FloatingFacts,
    GroupFacts,
    NetworkMap,
    PortFacts,
    RouterFacts,
    Trouble,
    way_from,
)
from servers.networks.domain.rules import ANYWHERE, ICMPS, RuleRequest, protocol_canonical, rule_sentence, traffic_words


@dataclass(frozen=True, slots=True)
class Traffic:
    """What is to pass: `protocol` in canonical form, `port` a destination port (of ICMP a type); None: any."""

    protocol: str
    port: int | None = None

    def words(self, translate: Translate = in_english) -> str:
        """Such as `TCP port 22`."""
        return traffic_words(self.protocol, self.port, None if self.protocol in ICMPS else self.port, translate)


@dataclass(frozen=True, slots=True)
class ChainLink:
    """One link of the chain. `remedy`: what would open it; empty where it is open, or nothing is known."""

    is_open: bool
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Reachability:
    """Whether all of the source reaches `address`, and why. `partly`: rules that let in some of it only."""

    is_reachable: bool
    address: str
    steps: tuple[ChainLink, ...]
    partly: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The first reason against it, or that there is none."""
        return self.sentence()

    def sentence(self, translate: Translate = in_english) -> str:
        """The same; the steps are in the language that the question asked for."""
        closed = [step.message for step in self.steps if not step.is_open]
        open_at = translate(gettext_noop("It is reachable at {address}."))
        return closed[0] if closed else open_at.format(address=self.address)


def reach_from_port(world: NetworkMap, source: PortFacts, to: PortFacts, traffic: Traffic) -> Reachability:
    """Whether what one port sends reaches another: by the best pair of their addresses."""
    found = [
        _between(world, (source, own), (to, fixed), traffic)
        for fixed in to.addresses
        for own in source.addresses
        if _version(fixed) == _version(own)
    ]
    return _best(world, found, to)


def reach_from_network(world: NetworkMap, cidr: str, to: PortFacts, traffic: Traffic) -> Reachability:
    """Whether every address of this range reaches the port. What is in no subnet that a router joins is outside."""
    found = [
        _from_range(world, cidr, to, fixed, traffic) for fixed in to.addresses if _version(fixed) == _version(cidr)
    ]
    return _best(world, found, to)


def _best(world: NetworkMap, found: Sequence[Reachability], to: PortFacts) -> Reachability:
    if not found:
        message = world.said(gettext_noop("{port} has no address of that IP version."), port=to.label)
        step = ChainLink(False, message, world.said(gettext_noop("Give the port an address of a subnet of it.")))
        return Reachability(False, "", (step, *_ends(to)))
    return min(found, key=lambda one: sum(not step.is_open for step in one.steps))


def _between(
    world: NetworkMap, from_: tuple[PortFacts, str], at: tuple[PortFacts, str], traffic: Traffic
) -> Reachability:
    (source, own), (to, fixed) = from_, at
    path, seen, dialled = _path(world, source, own, to, fixed)
    steps = [*_ends(source), *_ends(to), *path]
    steps.append(_lets(world, source, Direction.EGRESS, dialled, traffic))
    steps.append(_lets(world, to, Direction.INGRESS, seen, traffic))
    return Reachability(all(step.is_open for step in steps), dialled, tuple(steps))


def _path(
    world: NetworkMap, source: PortFacts, own: str, to: PortFacts, fixed: str
) -> tuple[list[ChainLink], str, str]:
    """The steps of the way, the source's address as the destination sees it, and the address that is dialled."""
    here, there = world.subnets[source.addresses[own]], world.subnets[to.addresses[fixed]]
    if here.network_id == there.network_id and here.has(fixed):
        near = gettext_noop("{source} and {port} are in one subnet, {subnet}.")
        said = world.said(near, source=source.label, port=to.label, subnet=here.cidr)
        return [ChainLink(True, said)], own, fixed
    onward, back = way_from(world, here, fixed), way_from(world, there, own)
    if onward.exit_router is None and onward.lost is None and _arrives(world, onward.routers, there.id):
        steps = _crossed(world, onward.routers)
        if back.lost is None and back.exit_router is None:
            return steps, own, fixed
        away = world.said(
            gettext_noop("Answers of {port} to {address} leave by another router."), port=to.label, address=own
        )
        lost = back.lost or Trouble(away)
        message = world.said(gettext_noop("Answers do not come back: {reason}"), reason=lost.message)
        return [*steps, ChainLink(False, message, lost.remedy)], own, fixed
    floating = world.floating_of(to, fixed)
    lost = onward.lost or Trouble(
        world.said(gettext_noop("There is no way from {source} to {subnet}."), source=here.cidr, subnet=there.cidr),
        world.said(gettext_noop("Join both by one router, or give the destination a floating address.")),
    )
    if floating is None:
        return [ChainLink(False, lost.message, lost.remedy)], own, fixed
    outward = way_from(world, here, floating.address)
    mine = world.floating_of(source, own)
    if outward.exit_router is None:
        lost = outward.lost or lost
        return [ChainLink(False, lost.message, lost.remedy)], own, floating.address
    exit_router = world.routers[outward.exit_router]
    seen = mine.address if mine is not None else _gateway(exit_router.gateways, own)
    steps = [*_crossed(world, outward.routers), *_crossed(world, [floating.router_id])]
    if mine is None and not exit_router.has_snat:
        steps.append(_no_snat(world, exit_router, source, own))
    if exit_router.external_network_id != floating.network_id:
        apart = gettext_noop("Router {router} and the floating address {address} are in two external networks.")
        steps.append(ChainLink(False, world.said(apart, router=exit_router.name, address=floating.address)))
    return steps, seen or own, floating.address


def _no_snat(world: NetworkMap, router: RouterFacts, source: PortFacts, own: str) -> ChainLink:
    message = gettext_noop("Router {router} does no SNAT: nobody outside can answer {address}.")
    remedy = gettext_noop("Switch SNAT of router {router} on, or give {source} a floating address.")
    return ChainLink(
        False,
        world.said(message, router=router.name, address=own),
        world.said(remedy, router=router.name, source=source.label),
    )


def _arrives(world: NetworkMap, routers: Iterable[uuid.UUID], subnet_id: uuid.UUID) -> bool:
    """Whether the last router has a leg in this very subnet, and not only in another one of the same range."""
    crossed = list(routers)
    return bool(crossed) and subnet_id in world.routers[crossed[-1]].legs.values()


def _from_range(world: NetworkMap, cidr: str, to: PortFacts, fixed: str, traffic: Traffic) -> Reachability:
    there, wanted = world.subnets[to.addresses[fixed]], ipaddress.ip_network(cidr)
    inside = [
        subnet
        for subnet in world.subnets.values()
        if subnet.network_id not in world.external and _covers(ipaddress.ip_network(subnet.cidr), wanted)
    ]
    # A range may be that of several networks: the one that is joined with the destination is meant.
    inside.sort(key=lambda subnet: subnet.network_id != there.network_id)
    dialled, steps = fixed, list(_ends(to))
    for subnet in inside:
        way = way_from(world, subnet, fixed)
        if subnet.id == there.id or (way.lost is None and _arrives(world, way.routers, there.id)):
            near = world.said(gettext_noop("{range} is in the subnet of {port}."), range=cidr, port=to.label)
            steps += _crossed(world, way.routers) or [ChainLink(True, near)]
            break
    else:
        if there.network_id in world.external:
            own = world.said(gettext_noop("{port} is in an external network itself."), port=to.label)
            steps.append(ChainLink(True, own))
        else:
            dialled, more = _from_outside(world, to, fixed)
            steps += more
    passed = _lets(world, to, Direction.INGRESS, cidr, traffic)
    partly = () if passed.is_open else _partly(world, to, cidr, traffic)
    if partly:
        some = world.said(
            gettext_noop("{message} Some of it is let in: {rules}"), message=passed.message, rules=" ".join(partly)
        )
        passed = replace(passed, message=some)
    steps.append(passed)
    return Reachability(all(step.is_open for step in steps), dialled, tuple(steps), partly)


def _from_outside(world: NetworkMap, to: PortFacts, fixed: str) -> tuple[str, list[ChainLink]]:
    floating: FloatingFacts | None = world.floating_of(to, fixed)
    if floating is None:
        message = gettext_noop("{address} of {port} has no floating address, and nobody outside knows the way to it.")
        remedy = world.said(gettext_noop("Give the port a floating address."))
        return fixed, [ChainLink(False, world.said(message, address=fixed, port=to.label), remedy)]
    stands = gettext_noop("The floating address {floating} stands for {address}.")
    steps = [ChainLink(True, world.said(stands, floating=floating.address, address=fixed))]
    return floating.address, [*steps, *_crossed(world, [floating.router_id])]


def _ends(port: PortFacts) -> list[ChainLink]:
    return [ChainLink(False, each.message, each.remedy) for each in port.trouble]


def _crossed(world: NetworkMap, routers: Iterable[uuid.UUID | None]) -> list[ChainLink]:
    steps = []
    for router_id in routers:
        router = None if router_id is None else world.routers.get(router_id)
        if router is None:
            continue
        closed = [ChainLink(False, each.message, each.remedy) for each in router.trouble]
        there = world.said(gettext_noop("Router {router} is on the way."), router=router.name)
        steps += closed or [ChainLink(True, there)]
    return steps


def _gateway(gateways: Sequence[str], own: str) -> str:
    return next((one for one in gateways if _version(one) == _version(own)), "")


def _lets(world: NetworkMap, port: PortFacts, way: Direction, remote: str, traffic: Traffic) -> ChainLink:
    """Whether a rule of the port's groups covers all of the remote (an address or a range)."""
    if not port.has_security:
        free = gettext_noop("{port} has no port security: everything passes.")
        return ChainLink(True, world.said(free, port=port.label))
    for group in _groups(world, port):
        for rule in group.rules:
            if rule_lets(rule, way, remote, traffic, world):
                passes = gettext_noop("A rule of group {group} passes it: {rule}")
                return ChainLink(True, world.said(passes, group=group.name, rule=_said(rule, world)))
    return _closed(world, port, way, remote, traffic)


def _closed(world: NetworkMap, port: PortFacts, way: Direction, remote: str, traffic: Traffic) -> ChainLink:
    is_in, wanted = way is Direction.INGRESS, _missing_rule(world, way, remote, traffic)
    names = [group.name for group in _groups(world, port)]
    if not names:
        nowhere = (
            gettext_noop("{port} is in no security group, so that nothing passes in.")
            if is_in
            else gettext_noop("{port} is in no security group, so that nothing passes out.")
        )
        remedy = world.said(gettext_noop("Put it into a group with the rule: {rule}"), rule=wanted)
        return ChainLink(False, world.said(nowhere, port=port.label), remedy)
    none = (
        gettext_noop("No rule of {groups} lets in {what} from {remote} at {port}.")
        if is_in
        else gettext_noop("No rule of {groups} lets out {what} to {remote} at {port}.")
    )
    groups = world.said(gettext_noop(" or ")).join(names)
    message = world.said(none, groups=groups, what=traffic.words(world.translate), remote=remote, port=port.label)
    return ChainLink(
        False, message, world.said(gettext_noop("Add to the group {group}: {rule}"), group=names[0], rule=wanted)
    )


def rule_lets(rule: RuleRequest, way: Direction, remote: str, traffic: Traffic, world: NetworkMap) -> bool:
    """Whether one rule passes all of this traffic with all of this remote."""
    network = ipaddress.ip_network(remote)
    if rule.direction != way or rule.ip_version != network.version or not _covers_traffic(rule, traffic):
        return False
    if rule.remote_group_id is not None:
        group = world.groups.get(rule.remote_group_id)
        is_one = network.num_addresses == 1
        return group is not None and is_one and str(network.network_address) in group.members
    return not rule.remote_cidr or _covers(ipaddress.ip_network(rule.remote_cidr), network)


def _covers_traffic(rule: RuleRequest, traffic: Traffic) -> bool:
    if not rule.protocol:
        return True
    if rule.protocol != protocol_canonical(traffic.protocol, rule.ip_version):
        return False
    if rule.protocol in ICMPS:
        # A rule with a code passes only some of the type.
        return rule.port_min is None or (rule.port_min == traffic.port and rule.port_max is None)
    if rule.port_min is None or rule.port_max is None:
        return True
    return traffic.port is not None and rule.port_min <= traffic.port <= rule.port_max


def _partly(world: NetworkMap, port: PortFacts, cidr: str, traffic: Traffic) -> tuple[str, ...]:
    """Rules that let in some of the range."""
    network = ipaddress.ip_network(cidr)
    found = []
    for group in _groups(world, port):
        for rule in group.rules:
            if not rule.remote_cidr or rule.direction != Direction.INGRESS or not _covers_traffic(rule, traffic):
                continue
            other = ipaddress.ip_network(rule.remote_cidr)
            if other.version == network.version and other.overlaps(network):
                found.append(_said(rule, world))
    return tuple(found)


def _groups(world: NetworkMap, port: PortFacts) -> list[GroupFacts]:
    return [world.groups[one] for one in port.group_ids if one in world.groups]


def _said(rule: RuleRequest, world: NetworkMap) -> str:
    group = world.groups.get(rule.remote_group_id) if rule.remote_group_id else None
    return rule_sentence(rule, group_name=group.name if group else "", translate=world.translate)


def _missing_rule(world: NetworkMap, way: Direction, remote: str, traffic: Traffic) -> str:
    """The narrowest rule that would pass it, as a sentence."""
    network = ipaddress.ip_network(remote)
    last = None if traffic.protocol in ICMPS else traffic.port
    is_anywhere = str(network) == ANYWHERE[network.version]
    return rule_sentence(
        RuleRequest(
            direction=way.value,
            ip_version=network.version,
            protocol=protocol_canonical(traffic.protocol, network.version) or "",
            port_min=traffic.port,
            port_max=last,
            remote_cidr="" if is_anywhere else str(network),
        ),
        translate=world.translate,
    )


def _covers(
    wide: ipaddress.IPv4Network | ipaddress.IPv6Network, narrow: ipaddress.IPv4Network | ipaddress.IPv6Network
) -> bool:
    if wide.version != narrow.version or wide.prefixlen > narrow.prefixlen:
        return False
    return narrow.network_address in wide


def _version(text: str) -> int:
    return ipaddress.ip_network(text).version
