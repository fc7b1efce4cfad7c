"""A router on this host: its namespace, its rules, its legs in the networks' bridges, and who is told of it."""

from ipaddress import IPv4Interface
from pathlib import Path

from computeagent.networks.bridge.commands import BatchLine, Commands
from computeagent.networks.bridge.compiling import router_directory
from computeagent.networks.bridge.dhcp_server import dhcp_ensure, dhcp_remove, running
from computeagent.networks.bridge.links import member_texts
from computeagent.networks.bridge.namespaces import InnerLink, inner_lines, namespace_add
from computeagent.networks.bridge.plan import DhcpFiles, LegPlan, RouterPlan
from computeagent.networks.bridge.ruleset import whole
from computeagent.protocol.networks import NetworkProblem
from controlplane.kernel.kill_points import reach

# Advertisements of others do not concern a router, whoever sends them.
SETTINGS = (
    "net.ipv4.ip_forward=1",
    "net.ipv6.conf.all.forwarding=1",
    "net.ipv6.conf.default.accept_ra=0",
    "net.ipv6.conf.all.accept_ra=0",
    "net.ipv4.conf.all.send_redirects=0",
    "net.ipv4.conf.default.send_redirects=0",
    # Several legs may be in one network: each speaks of its own addresses alone.
    "net.ipv4.conf.all.arp_ignore=1",
    "net.ipv4.conf.all.arp_announce=2",
)
ANNOUNCEMENTS = "2"


def router_ensure(
    commands: Commands,
    directory: Path,
    router: RouterPlan,
    before: RouterPlan | None,
    *,
    has_namespace: bool,
    links: frozenset[str],
) -> list[NetworkProblem]:
    """Have it as planned; `before`: as it was. The rules are in force before packets pass. Raises NetworkError."""
    files = router_directory(directory, router.id)
    if not has_namespace:
        legs = {leg.link for leg in router.legs}
        namespace_add(commands, router.namespace, legs & links, files)
        links = links - legs
    inside = commands.inside(router.namespace)
    inside.run(("nft", "-f", "-"), whole(router.tables))
    inside.run(("sysctl", "-q", "-w", *SETTINGS))
    reach("computeagent.networks.bridge.routers:guarded")
    lines = [line for leg in router.legs for line in _leg(leg, router, is_there=leg.link in links)]
    problems = commands.ip_batch(lines)
    outside = tuple(IPv4Interface(f"{address}/32") for address in router.announced)
    inner = [
        InnerLink(leg.name, leg.mtu, (*leg.addresses, *outside) if leg.name == router.outer else leg.addresses)
        for leg in router.legs
    ]
    routes = [f"{to} via {via}" for to, via in router.routes]
    lines_inside = inner_lines(inside, inner, routes, "router", router.id, is_new=not has_namespace)
    problems += inside.ip_batch(list(lines_inside))
    reach("computeagent.networks.bridge.routers:addressed")
    _announce(inside, router, before if has_namespace else None)
    if router.advertisements:
        dhcp_ensure(inside, files, DhcpFiles(router.advertisements, "", {}))
    elif files.exists():
        dhcp_remove(files)
    return problems


def _leg(leg: LegPlan, router: RouterPlan, *, is_there: bool) -> list[BatchLine]:
    lines = list(member_texts(leg.link, leg.bridge, leg.mtu))
    if not is_there:
        lines.insert(
            0, f"link add name {leg.link} type veth peer name {leg.name} address {leg.mac} netns {router.namespace}"
        )
    return [BatchLine(line, "router", router.id) for line in lines]


def _announce(inside: Commands, router: RouterPlan, before: RouterPlan | None) -> None:
    """Neighbours outside may remember the addresses as somebody else's: another host's router had them."""
    known = {*before.announced, *_own(before)} if before is not None else set()
    for address in (*router.announced, *_own(router)):
        if address not in known:
            inside.start(("arping", "-q", "-U", "-c", ANNOUNCEMENTS, "-I", router.outer, address))


def _own(router: RouterPlan) -> list[str]:
    return [
        str(each.ip) for leg in router.legs if leg.name == router.outer for each in leg.addresses if each.version == 4
    ]


def advertises(router: RouterPlan, directory: Path) -> bool:
    """Whether what tells guests of it runs, if it is to."""
    return not router.advertisements or running(router_directory(directory, router.id)) is not None
