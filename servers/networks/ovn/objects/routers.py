"""Routers: a distributed router of OVN, its legs, the way outside and floating addresses."""

import ipaddress
from collections.abc import Iterator, Mapping
from hashlib import sha256

from computeagent.protocol.networks import Ipv6Mode, NetworkSpec, RouterLeg, RouterSpec, SubnetSpec
from controlplane.kernel.texts import phrase as _
from servers.networks.ovn.objects.networks import METADATA
from servers.networks.ovn.objects.row import Columns, NorthboundRow, network_key, port_key, router_key
from servers.networks.ovn.objects.state import OvnLayout, OvnRouter

MAX_GATEWAYS = 5
NO_GATEWAY = _("OVN_GATEWAY_CHASSIS names no host: nothing passes between this router and its external network.")
NOT_DISTRIBUTED: dict[str, tuple[str, ...]] = {"external_mac": (), "logical_port": ()}


def router_problem(wanted: OvnRouter, layout: OvnLayout) -> str:
    """What keeps the router from doing all that it is to do, for operators; empty for nothing."""
    return NO_GATEWAY if wanted.router.gateway is not None and not layout.gateway_chassis else ""


def router_rows(wanted: OvnRouter, networks: Mapping[str, NetworkSpec], layout: OvnLayout) -> list[NorthboundRow]:
    """Everything that is there for a router. `networks`: those of its legs, by id."""
    router, key = wanted.router, router_key(wanted.router.id)
    subnets = {subnet.id: subnet for network in networks.values() for subnet in network.subnets}
    columns: Columns = {
        "name": router.id,
        "enabled": (router.is_enabled,),
        # As Neutron has them: neighbours are learned when they are asked for, which keeps large networks small.
        "options": {"always_learn_from_arp_request": "false", "dynamic_neigh_routers": "true"},
    }
    rows = [NorthboundRow("Logical_Router", key, key, columns)]
    for leg in router.legs:
        rows += _leg_rows(key, leg, networks.get(leg.network_id), subnets, is_gateway=False)
        rows += _metadata_policy(key, leg, subnets)
        rows += _taken(router, leg, subnets)
    if router.gateway is not None:
        rows += _leg_rows(key, router.gateway, networks.get(router.gateway.network_id), subnets, is_gateway=True)
        rows += _gateway_rows(wanted, router.gateway, subnets, layout)
    for route in router.routes:
        columns = {"ip_prefix": route.destination, "nexthop": route.nexthop, "output_port": ()}
        rows.append(_child("Logical_Router_Static_Route", key, f"{route.destination}:{route.nexthop}", columns))
    return rows


def _leg_rows(
    key: str, leg: RouterLeg, network: NetworkSpec | None, subnets: Mapping[str, SubnetSpec], *, is_gateway: bool
) -> list[NorthboundRow]:
    """A port of the router and the switch port that it is joined to. A leg without addresses is none yet."""
    if not leg.addresses or network is None:
        return []
    name = leg_name(leg)
    columns: Columns = {
        "name": name,
        "mac": leg.mac,
        "networks": tuple(
            f"{each.address}/{ipaddress.ip_network(subnets[each.subnet_id].cidr).prefixlen}"
            for each in leg.addresses
            if each.subnet_id in subnets
        ),
        "ipv6_ra_configs": {} if is_gateway else _advertised(leg, network.mtu, subnets),
    }
    switch_port: Columns = {
        "name": leg.port_id,
        "type": "router",
        "addresses": ("router",),
        # Outside is told where the router's and the floating addresses are, also after another chassis took over.
        "options": {"router-port": name} | ({"nat-addresses": "router"} if is_gateway else {}),
    }
    parent = network_key(leg.network_id)
    return [
        NorthboundRow("Logical_Router_Port", f"leg:{leg.port_id}", key, columns, parent=key, column="ports"),
        NorthboundRow("Logical_Switch_Port", port_key(leg.port_id), key, switch_port, parent=parent, column="ports"),
    ]


def leg_name(leg: RouterLeg) -> str:
    """Of the router's port; the switch port has the port's own id."""
    return f"lrp-{leg.port_id}"


def _advertised(leg: RouterLeg, mtu: int, subnets: Mapping[str, SubnetSpec]) -> dict[str, str]:
    """What IPv6 guests are told by router advertisements: whence addresses are, and to route over here. The subnets of
    a leg have one mode.
    """
    of_six = [subnets[each.subnet_id] for each in leg.addresses if ":" in each.address and each.subnet_id in subnets]
    first = next((subnet for subnet in of_six if subnet.has_dhcp), None)
    if first is None:
        return {}
    mode = (first.ipv6_mode or Ipv6Mode.STATEFUL).replace("-", "_")
    found = {"address_mode": mode, "send_periodic": "true", "mtu": str(mtu)}
    if first.ipv6_mode == Ipv6Mode.SLAAC and first.dns_servers:
        found["rdnss"] = first.dns_servers[0]  # OVN tells one
    return found


def _metadata_policy(key: str, leg: RouterLeg, subnets: Mapping[str, SubnetSpec]) -> Iterator[NorthboundRow]:
    """Guests that ignore the route to the metadata service which DHCP tells them ask their gateway for it."""
    own = [subnets[each.subnet_id].metadata_address for each in leg.addresses if each.subnet_id in subnets]
    for address in own[:1]:
        if address and ":" not in address:
            columns: Columns = {
                "priority": 1000,
                "match": f'inport == "{leg_name(leg)}" && ip4.dst == {METADATA}',
                "action": "reroute",
                "nexthops": (address,),
            }
            yield _child("Logical_Router_Policy", key, f"metadata:{leg.port_id}", columns)


def _gateway_rows(
    wanted: OvnRouter, leg: RouterLeg, subnets: Mapping[str, SubnetSpec], layout: OvnLayout
) -> Iterator[NorthboundRow]:
    router, key = wanted.router, router_key(wanted.router.id)
    if not leg.addresses:
        return
    chassis = gateways_of(router.id, layout.gateway_chassis)
    for place, name in enumerate(chassis):
        columns: Columns = {"name": f"{leg_name(leg)}_{name}", "chassis_name": name, "priority": len(chassis) - place}
        yield NorthboundRow(
            "Gateway_Chassis",
            f"gateway:{leg.port_id}:{name}",
            key,
            columns,
            parent=f"leg:{leg.port_id}",
            column="gateway_chassis",
        )
    for each in leg.addresses:
        subnet = subnets.get(each.subnet_id)
        if subnet is not None and subnet.gateway:
            everywhere = "::/0" if ":" in subnet.gateway else "0.0.0.0/0"
            columns = {"ip_prefix": everywhere, "nexthop": subnet.gateway, "output_port": (leg_name(leg),)}
            yield _child("Logical_Router_Static_Route", key, f"outside:{subnet.id}", columns)
    yield from _leaving(router, leg, subnets)
    outside = next((each.address for each in leg.addresses if ":" not in each.address), "")
    inside = {
        subnets[each.subnet_id].cidr for one in router.legs for each in one.addresses if each.subnet_id in subnets
    }
    for cidr in sorted(inside) if router.has_snat and outside else ():
        if ":" not in cidr:
            columns = {
                "type": "snat",
                "external_ip": outside,
                "logical_ip": cidr,
                "external_mac": (),
                "logical_port": (),
            }
            yield _child("NAT", key, f"snat:{cidr}", columns)
    for floating in router.floating:
        mac = wanted.macs.get(floating.id, "")
        is_distributed = bool(layout.has_distributed_floating and mac and floating.port_id)
        columns = {
            "type": "dnat_and_snat",
            "external_ip": floating.address,
            "logical_ip": floating.fixed_address,
            "external_mac": (mac,) if is_distributed else (),
            "logical_port": (floating.port_id,) if is_distributed else (),
        }
        yield _child("NAT", key, f"floating:{floating.id}", columns)


def _leaving(router: RouterSpec, gateway: RouterLeg, subnets: Mapping[str, SubnetSpec]) -> Iterator[NorthboundRow]:
    """What may go outside: what is translated there, and what is from the router itself. Ports may send from any
    address that their project says; outside those are somebody else's.
    """
    key, name = router_key(router.id), leg_name(gateway)
    behind = [
        subnets[each.subnet_id].cidr for one in router.legs for each in one.addresses if each.subnet_id in subnets
    ]
    routed = [route.destination for route in router.routes]
    for version in sorted({4 if ":" not in each.address else 6 for each in gateway.addresses}):
        untranslated = routed if version == 6 or not router.has_snat else []
        own = [each.address for each in gateway.addresses]
        sources = sorted({one for one in (*behind, *untranslated, *own) if (":" in one) == (version == 6)})
        # Two rows, since OVN makes a flow of each combination of ranges that are *not* to be matched.
        leaving = f'outport == "{name}" && ip{version}'
        allowed = f"{leaving} && ip{version}.src == {{{', '.join(sources)}}}"
        if refused := sorted({one for one in routed if version == 4 and router.has_snat and ":" not in one}):
            match = f"{leaving} && ip4.src == {{{', '.join(refused)}}}"
            yield _policy(key, "leaving:routed4", 950, match, "drop")
        for priority, match, action in ((900, allowed, "allow"), (800, leaving, "drop")):
            yield _policy(key, f"leaving:{action}{version}", priority, match, action)


def _taken(router: RouterSpec, leg: RouterLeg, subnets: Mapping[str, SubnetSpec]) -> Iterator[NorthboundRow]:
    """From a network inside comes what is of its subnets or of static routes over it, and what the router itself
    answers: who is in another network of the router knows by the address who speaks. A default route over it lets
    anything come from there.
    """
    key, name = router_key(router.id), leg_name(leg)
    legs = (*router.legs, *((router.gateway,) if router.gateway is not None else ()))
    itself = [each.address for one in legs for each in one.addresses] + ["fe80::/10"]
    own = [ipaddress.ip_network(subnets[each.subnet_id].cidr) for each in leg.addresses if each.subnet_id in subnets]
    over = [one.destination for one in router.routes if any(ipaddress.ip_address(one.nexthop) in each for each in own)]
    for version in (4, 6):
        ranges = {one for one in (*map(str, own), *over, *itself) if (":" in one) == (version == 6)}
        if leg.addresses and not any(one.endswith("/0") for one in ranges):
            taken = f'inport == "{name}" && ip{version}'
            allowed = f"{taken} && ip{version}.src == {{{', '.join(sorted(ranges))}}}" if ranges else "0"
            yield _policy(key, f"taken:{leg.port_id}:allow{version}", 900, allowed, "allow")
            yield _policy(key, f"taken:{leg.port_id}:drop{version}", 850, taken, "drop")


def _policy(router: str, name: str, priority: int, match: str, action: str) -> NorthboundRow:
    columns: Columns = {"priority": priority, "match": match, "action": action, "nexthops": ()}
    return _child("Logical_Router_Policy", router, name, columns)


def gateways_of(router_id: str, chassis: tuple[str, ...]) -> tuple[str, ...]:
    """The chassis that a router's outside traffic goes through, the preferred one first. Each router begins at another
    one, so that they share the load; without the first the next one takes over.
    """
    if not chassis:
        return ()
    first = int(sha256(router_id.encode()).hexdigest(), 16) % len(chassis)
    return (chassis[first:] + chassis[:first])[:MAX_GATEWAYS]


_COLUMNS = {"Logical_Router_Static_Route": "static_routes", "Logical_Router_Policy": "policies", "NAT": "nat"}


def _child(table: str, router: str, name: str, columns: Columns) -> NorthboundRow:
    kind = _COLUMNS[table]
    return NorthboundRow(table, f"{kind}:{router}:{name}", router, columns, parent=router, column=kind)
