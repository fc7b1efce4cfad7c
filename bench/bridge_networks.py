"""Networks by bridges on this machine: a document of many ports, one change, plugging, the first port of a network step
by step, and memory for each network.

As root a network namespace is made for it, and removed; as an ordinary user one of his own, as hypervisors of his have.
Guests are not needed: a port without one costs the same.
"""

import argparse
import os
import resource
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from unittest.mock import patch

from computeagent.networks.base import NetworkError, NetworkPlace
from computeagent.networks.bridge.commands import Commands
from computeagent.networks.bridge.dhcp_server import running
from computeagent.networks.bridge.plug import BridgePlug
from computeagent.networks.places.machine import MachineNetworks
from computeagent.protocol.guests import PortSpec
from computeagent.protocol.networks import (
    Direction,
    FixedAddress,
    GroupRule,
    GroupSpec,
    HostNetworks,
    HostPort,
    NetworkBackendKind,
    NetworkSpec,
    SubnetSpec,
)

REPEATS = 7


def identifier(kind: int, number: int) -> str:
    """A UUID that differs early, as random ones do."""
    return f"{number:08x}-{kind:04x}-4000-8000-{number:012x}"


def world(networks: int, ports: int, rules: int) -> HostNetworks:
    """Ports spread over networks; all in one group, whose members they are, with some rules."""
    specs = [
        NetworkSpec(
            id=identifier(1, n), segment=n + 1, subnets=(SubnetSpec(identifier(2, n), "10.0.0.0/16", "10.0.0.1"),)
        )
        for n in range(networks)
    ]
    group = identifier(3, 0)
    made = [port(specs[n % networks], n, group) for n in range(ports)]
    members: dict[str, list[str]] = {}
    for each in made:
        members.setdefault(each.network_id, []).append(each.addresses[0].address)
    rule = [
        GroupRule(identifier(4, n), Direction.INGRESS, protocol="tcp", port_min=n + 1, port_max=n + 1)
        for n in range(rules)
    ]
    rule.append(GroupRule(identifier(4, rules), Direction.INGRESS, remote_group_id=group))
    rule.append(GroupRule(identifier(4, rules + 1), Direction.EGRESS))
    groups = (GroupSpec(group, tuple(rule), {network: tuple(each) for network, each in members.items()}),)
    return HostNetworks(1, networks=tuple(specs), ports=tuple(made), groups=groups)


def port(network: NetworkSpec, number: int, group: str) -> HostPort:
    """Port `number` of the host."""
    address = FixedAddress(network.subnets[0].id, f"10.0.{1 + number // 250}.{1 + number % 250}")
    mac = f"fa:16:3e:{number >> 16:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"
    return HostPort(identifier(5, number), network.id, mac, (address,), group_ids=(group,), hostname=f"vm-{number}")


def timed(what: str, do: Callable[[], object]) -> object:
    """Do it, and print how long it took."""
    started = time.perf_counter()
    answer = do()
    print(f"{what:64} {1000 * (time.perf_counter() - started):8.1f} ms")
    return answer


def repeated(what: str, do: Callable[[int], object]) -> None:
    """Do it several times, and print the median and the longest."""
    took = []
    for number in range(REPEATS):
        started = time.perf_counter()
        do(number)
        took.append(1000 * (time.perf_counter() - started))
    print(f"{what:64} {median(took):8.1f} ms, at most {max(took):.1f} ms")


def memory_kib(pid: int) -> int:
    """The process's share of memory (PSS)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("Pss:")))


def first_port(plug: BridgePlug, change: Callable[[HostNetworks], None]) -> None:
    """What a build waits for whose guest is the first one of its network here: from the document to the tap, and each
    program that is run for it. CPU time is ours and that of those programs; on a busy machine it says more.
    """
    one = world(1, 1, 0)
    spec = PortSpec(one.ports[0].mac, one.networks[0].id, one.ports[0].id, NetworkBackendKind.BRIDGE)
    took, cpu, steps = [], [], defaultdict[str, list[tuple[float, float]]](list)
    change(HostNetworks(0))  # the rules of a host are there before its first port
    for _ in range(REPEATS):
        with commands_noted() as noted:
            began, cpu_began = time.perf_counter(), cpu_s()
            change(one)
            plug.plug(spec)
            took.append(1000 * (time.perf_counter() - began))
            cpu.append(1000 * (cpu_s() - cpu_began))
        for begun, lasted, what in noted:
            steps[what].append((begun, lasted))
        change(HostNetworks(0))
    line = f"{median(took):8.1f} ms, at most {max(took):.1f} ms; CPU {median(cpu):.1f} ms"
    print(f"{'first port of a network, document to tap':64} {line}")
    for what, each in sorted(steps.items(), key=lambda step: median(begun for begun, _ in step[1])):
        begun, lasted = (1000 * median(times) for times in zip(*each, strict=True))
        print(f"    {what:60} {lasted:8.1f} ms, begun at {begun:.1f} ms")


def cpu_s() -> float:
    """Of this process and of the programs that it ran."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@contextmanager
def commands_noted() -> Iterator[list[tuple[float, float, str]]]:
    """The programs that are run inside: when each began, how long it took (seconds), and what it was."""
    noted: list[tuple[float, float, str]] = []
    run, opened = Commands._run, time.perf_counter()

    def timed_run(self: Commands, command: Sequence[str], given: str) -> subprocess.CompletedProcess[str]:
        began = time.perf_counter()
        done = run(self, command, given)
        words = [word for word in command if not word.startswith("-")]
        program = next((word for word in ("dnsmasq", "nft", "bridge", "tc") if word in words), "ip")
        where = " in the namespace" if "-netns" in command or program == "dnsmasq" else ""
        what = f"{given.count(chr(10))} lines" if given else " ".join(words[words.index(program) + 1 :][:2])
        noted.append((began - opened, time.perf_counter() - began, f"{program}{where}: {what}"))
        return done

    with patch.object(Commands, "_run", timed_run):
        yield noted


revisions = count(1)


def changed(plug: BridgePlug, what: HostNetworks) -> None:
    """Have this document carried out as one that is new."""
    applied = plug.apply(replace(what, revision=next(revisions)))
    assert applied.problems == (), applied.problems


def measure(plug: BridgePlug, directory: Path, options: argparse.Namespace) -> None:
    """All figures."""
    timed("open (what the host can do)", plug.open)
    wanted = world(1, options.ports, options.rules)
    timed(f"a document of {options.ports} ports in one network, nothing there", lambda: changed(plug, wanted))
    spec = [PortSpec(each.mac, each.network_id, each.id, NetworkBackendKind.BRIDGE) for each in wanted.ports]
    repeated("plug one port", lambda number: plug.plug(spec[number]))
    if options.taps:
        timed(f"plug {options.ports - REPEATS} more", lambda: [plug.plug(each) for each in spec[REPEATS:]])
    change = partial(changed, plug)
    more = [port(wanted.networks[0], options.ports + number, wanted.groups[0].id) for number in range(REPEATS)]
    repeated("one port more", lambda n: change(replace(wanted, ports=wanted.ports + tuple(more[: n + 1]))))
    rules = wanted.groups[0].rules
    repeated(
        "one rule more or fewer",
        lambda n: change(replace(wanted, groups=(replace(wanted.groups[0], rules=rules[n % 2 :]),))),
    )
    again = replace(wanted, revision=next(revisions))
    repeated("the same revision again (all is looked at)", lambda _: plug.apply(again))
    timed("everything removed", lambda: change(HostNetworks(0)))
    first_port(plug, change)
    many = world(options.networks, options.networks, 0)
    timed(f"{options.networks} networks of a port each", lambda: change(many))
    time.sleep(1)
    pids = [running(directory / "dhcp" / network.id) for network in many.networks]
    shares = [memory_kib(pid) for pid in pids if pid is not None]
    assert len(shares) == options.networks
    print(f"{'memory of dnsmasq, one a network (PSS, median)':64} {median(shares):8.0f} KiB")
    timed("everything removed", lambda: change(HostNetworks(0)))


def main() -> None:
    """Make a place, measure in it, remove it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ports", type=int, default=1000)
    parser.add_argument("--rules", type=int, default=20)
    parser.add_argument("--networks", type=int, default=50)
    parser.add_argument("--taps", action="store_true", help="make the taps of all ports too")
    parser.add_argument("--first-port", action="store_true", help="only what the first port of a network costs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, place_here(Path(directory) / "machine") as place:
        plug = BridgePlug(place, Path(directory))
        try:
            if options.first_port:
                plug.open()
                first_port(plug, partial(changed, plug))
            else:
                measure(plug, Path(directory), options)
        finally:
            with suppress(NetworkError):
                BridgePlug(place, Path(directory)).apply(HostNetworks(0))


@contextmanager
def place_here(directory: Path) -> Iterator[NetworkPlace]:
    """A place for one hypervisor, removed afterwards."""
    if os.geteuid() == 0:
        name = f"knbench-{os.getpid()}"
        subprocess.run(("ip", "netns", "add", name), check=True)
        try:
            yield NetworkPlace(("nsenter", f"--net=/run/netns/{name}"), "192.0.2.1", namespace_prefix=name)
        finally:
            subprocess.run(("ip", "netns", "delete", name), check=True)
    else:
        machine = MachineNetworks(directory)
        try:
            yield machine.place("bench")
        finally:
            machine.remove()


if __name__ == "__main__":
    main()
