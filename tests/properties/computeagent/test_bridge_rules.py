"""The rules that are made of security groups let through what these mean, and nothing else; and a change of rules comes
to the same as making them anew, in the kernel itself.
"""

import ipaddress
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from computeagent.networks.base import NetworkPlace
from computeagent.networks.bridge.commands import Commands
from computeagent.networks.bridge.compiling import host_plan
from computeagent.networks.bridge.group_rules import PROTOCOL_NUMBERS
from computeagent.networks.bridge.ruleset import Table, change, whole
from computeagent.protocol.networks import AddressPair, Direction, GroupRule, GroupSpec, HostNetworks
from tests.worlds.bridge_place import document, network, new_id, port_in, run

NETWORK = network("10.50.0.0/24")
GROUP_IDS = [new_id() for _ in range(3)]
PORTS = [port_in(NETWORK, f"10.50.0.{n}", id=new_id()) for n in range(5, 11)]
ADDRESSES = {4: ["10.50.0.5", "10.50.0.6", "10.50.1.9", "192.0.2.1"], 6: ["fd00::5", "fd00::6", "fd01::9"]}
CIDRS = {4: ["", "10.50.0.0/24", "10.50.0.5/32", "0.0.0.0/0"], 6: ["", "fd00::/64", "fd00::5/128", "::/0"]}
PROTOCOLS = ["", "any", "tcp", "udp", "6", "icmp", "ipv6-icmp", "sctp", "gre", "47"]


@st.composite
def rules(draw: st.DrawFn) -> GroupRule:
    """Any rule that can be asked for, and some that cannot be meant."""
    version = draw(st.sampled_from([4, 6]))
    protocol = draw(st.sampled_from(PROTOCOLS))
    low = draw(st.sampled_from([None, 0, 3, 8, 22, 80]))
    high = draw(st.sampled_from([None, 0, 8, 22, 100, 255])) if low is not None else None
    by_group = draw(st.booleans())
    return GroupRule(
        id=new_id(),
        direction=draw(st.sampled_from(list(Direction))),
        ip_version=version,
        protocol=protocol,
        port_min=low,
        port_max=high,
        remote_cidr="" if by_group else draw(st.sampled_from(CIDRS[version])),
        remote_group_id=draw(st.sampled_from(GROUP_IDS)) if by_group else "",
    )


@st.composite
def groups(draw: st.DrawFn) -> tuple[GroupSpec, ...]:
    members = st.lists(st.sampled_from(ADDRESSES[4] + ADDRESSES[6]), unique=True).map(tuple)
    return tuple(
        GroupSpec(each, tuple(draw(st.lists(rules(), max_size=4))), {NETWORK.id: draw(members)}) for each in GROUP_IDS
    )


@st.composite
def documents(draw: st.DrawFn) -> HostNetworks:
    ports = []
    for port in draw(st.lists(st.sampled_from(PORTS), unique_by=lambda each: each.id)):
        pairs = draw(
            st.lists(
                st.sampled_from([AddressPair("10.9.0.0/16"), AddressPair("10.9.1.0/24"), AddressPair("fd00::/64")]),
                max_size=2,
            )
        )
        ports.append(
            replace(
                port,
                group_ids=tuple(draw(st.lists(st.sampled_from(GROUP_IDS), unique=True))),
                has_security=draw(st.booleans()),
                is_enabled=draw(st.booleans()),
                allowed_pairs=tuple(pairs),
            )
        )
    return document([NETWORK], ports, draw(groups()))


def tables_of(
    wanted: HostNetworks, profiles: Mapping[object, int] | None = None
) -> tuple[tuple[Table, ...], dict[object, int]]:
    made = host_plan(wanted, NetworkPlace(), Path("/d"), zones={}, profiles=profiles or {})  # type: ignore[arg-type]
    return made.tables, dict(made.profiles)


Connection = tuple[Direction, int, int, int, str]
connections = st.sampled_from([4, 6]).flatmap(
    lambda version: st.tuples(
        st.sampled_from(list(Direction)),
        st.just(version),
        st.sampled_from([1, 6, 17, 47, 58, 132]),
        st.sampled_from([0, 3, 8, 22, 23, 80, 100, 101, 0x0800, 0x0808, 0x0300, 0x1600]),
        st.sampled_from(ADDRESSES[version]),
    )
)


def meant(connection: Connection, of: tuple[GroupSpec, ...], group_ids: tuple[str, ...]) -> bool:
    """What the groups say, read from Neutron's documentation: any rule of any group lets through."""
    direction, version, protocol, port, remote = connection
    by_id = {each.id: each for each in of}
    return any(
        _meant(rule, protocol, port, remote, by_id)
        for group_id in group_ids
        for rule in by_id[group_id].rules
        if rule.direction == direction and rule.ip_version == version
    )


def _meant(rule: GroupRule, protocol: int, port: int, remote: str, by_id: Mapping[str, GroupSpec]) -> bool:
    any_protocol = rule.protocol in {"", "any"}
    of_rule = 0 if any_protocol else PROTOCOL_NUMBERS.get(rule.protocol) or int(rule.protocol)
    if of_rule in {1, 58}:
        of_rule = 1 if rule.ip_version == 4 else 58
    is_icmp = of_rule == (1 if rule.ip_version == 4 else 58)
    has_ports = of_rule in {6, 17, 33, 132, 136}
    if rule.port_min is not None and not (is_icmp or has_ports):
        return False  # it cannot be meant
    if not any_protocol and of_rule != protocol:
        return False
    if rule.port_min is not None and is_icmp:
        if port >> 8 != rule.port_min or (rule.port_max is not None and port & 255 != rule.port_max):
            return False
    elif rule.port_min is not None:
        high = 65535 if rule.port_max is None else rule.port_max
        if not rule.port_min <= port <= high:
            return False
    if rule.remote_group_id:
        return remote in by_id[rule.remote_group_id].members[NETWORK.id]
    return not rule.remote_cidr or ipaddress.ip_address(remote) in ipaddress.ip_network(rule.remote_cidr)


def verdict(connection: Connection, tables: tuple[Table, ...], number: int) -> bool:
    """What the rules say: a reading of the few expressions that we write."""
    direction, version, _, _, _ = connection
    table = next(each for each in tables if each.family == ("ip" if version == 4 else "ip6"))

    def chain(name: str) -> bool | None:
        for rule in table.chains[name].rules:
            matches, _, action = rule.rpartition(" ") if not rule.startswith("jump") else ("", "", rule)
            if not _matches(matches, connection, table):
                continue
            if action in {"accept", "drop"}:
                return action == "accept"
            inner = chain(action.removeprefix("jump "))
            if inner is not None:
                return inner
        return None

    said = chain(f"{direction}_{number}")
    assert said is not None, "a profile's chain says something of everything"
    return said


def _matches(text: str, connection: Connection, table: Table) -> bool:
    direction, _, protocol, port, remote = connection
    side = "saddr" if direction == Direction.INGRESS else "daddr"
    for kind, value in re.findall(r"ct (protocol|original proto-dst|original ip6? [sd]addr) (\S+)", text):
        if kind == "protocol" and int(value) != protocol:
            return False
        if kind == "original proto-dst":
            low, _, high = value.partition("-")
            if not int(low) <= port <= int(high or low):
                return False
        if kind.endswith("addr"):
            assert kind.endswith(side)
            if value.startswith("@"):
                if remote not in table.sets[value[1:]].elements:
                    return False
            elif ipaddress.ip_address(remote) not in ipaddress.ip_network(value):
                return False
    assert re.sub(r"ct (protocol|original proto-dst|original ip6? [sd]addr) \S+ ?", "", text) == ""
    return True


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    groups(),
    st.lists(st.sampled_from(GROUP_IDS), unique=True).map(tuple),
    st.lists(connections, min_size=1, max_size=12),
)
def test_what_rules_let_through_is_what_groups_mean(
    of: tuple[GroupSpec, ...], group_ids: tuple[str, ...], tried: list[Connection]
) -> None:
    wanted = document([NETWORK], [replace(PORTS[0], group_ids=group_ids)], of)
    tables, profiles = tables_of(wanted)
    (number,) = profiles.values()
    for connection in tried:
        assert verdict(connection, tables, number) == meant(connection, of, group_ids), connection


@pytest.fixture(scope="module")
def kernel() -> Iterator[Commands]:
    """A namespace whose rules may be anything."""
    if os.geteuid() != 0:
        pytest.skip("only root makes network namespaces on the machine itself")
    name = f"knbr{os.getpid()}-rules"
    run("ip", "netns", "add", name)
    yield Commands(("nsenter", f"--net=/run/netns/{name}"))
    run("ip", "netns", "delete", name)


@pytest.mark.processes
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.lists(documents(), min_size=2, max_size=4))
def test_a_change_of_rules_comes_to_the_same_as_making_them_anew(kernel: Commands, steps: list[HostNetworks]) -> None:
    tables, profiles = tables_of(steps[0])
    kernel.run(("nft", "-f", "-"), whole(tables))
    for step in steps[1:]:
        before, (tables, profiles) = tables, tables_of(step, profiles)
        kernel.run(("nft", "-f", "-"), change(before, tables))
    changed = _listed(kernel)
    kernel.run(("nft", "-f", "-"), whole(tables))
    assert changed == _listed(kernel)
    assert change(tables, tables) == ""


def _listed(kernel: Commands) -> list[str]:
    """The kernel's own list, whatever the order of tables, chains and elements in it."""
    text = re.sub(r",\s+", ", ", kernel.run(("nft", "list", "ruleset")))
    lines = re.sub(r"elements = \{ (.*?) \}", lambda found: " ".join(sorted(found[1].split(", "))), text)
    blocks = re.split(r"\n\n|\n(?=table )|(?<=\{)\n(?=\t(?:chain|set|map))", lines)
    return sorted(block.strip("}\n") for block in blocks)
