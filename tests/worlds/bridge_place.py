"""Places of hypervisors in network namespaces, with namespaces joined by veths as their guests."""

import ipaddress
import subprocess
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from computeagent.networks.base import NetworkPlace, tap_name
from computeagent.networks.bridge.plug import BridgePlug
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

ENTER = "nsenter"


def run(*command: str, check: bool = True, given: str = "", timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """The command's outcome; its words are in the error."""
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=timeout)
    assert not check or done.returncode == 0, f"{' '.join(command)}: {done.stderr or done.stdout}"
    return done


@dataclass
class Guest:
    """A namespace that has a port's card."""

    namespace: str
    port: HostPort
    address: str
    prefix_length: int
    processes: "list[subprocess.Popen[str]]" = field(default_factory=list)

    def run(self, *command: str, check: bool = True, given: str = "", timeout: float = 120) -> str:
        """What the command said inside."""
        return run(
            ENTER, f"--net=/run/netns/{self.namespace}", *command, check=check, given=given, timeout=timeout
        ).stdout

    def succeeds(self, *command: str, given: str = "") -> bool:
        """Whether the command ended well."""
        return run(ENTER, f"--net=/run/netns/{self.namespace}", *command, check=False, given=given).returncode == 0

    def pings(self, address: str, seconds: int = 1, *options: str) -> bool:
        """Whether a ping comes back."""
        return self.succeeds("busybox", "ping", "-q", "-c", "1", "-W", str(seconds), *options, address)

    def listens(self, port: int, protocol: str = "tcp") -> None:
        """Answers with what it gets, on this port, for as many as come."""
        program = (
            "import socketserver as s, sys\n"
            "class T(s.StreamRequestHandler):\n"
            "    def handle(self):\n"
            "        for line in self.rfile: self.wfile.write(line)\n"
            "class U(s.BaseRequestHandler):\n"
            "    def handle(self): self.request[1].sendto(self.request[0], self.client_address)\n"
            "kind, port = sys.argv[1], int(sys.argv[2])\n"
            "base = s.ThreadingTCPServer if kind == 'tcp' else s.UDPServer\n"
            "class S(base): address_family = __import__('socket').AF_INET6\n"
            "server = S(('::', port), T if kind == 'tcp' else U)\n"
            "print('ready', flush=True); server.serve_forever()\n"
        )
        process = self.start(sys.executable, "-c", program, protocol, str(port))
        assert process.stdout is not None and process.stdout.readline() == "ready\n"

    def asks(self, address: str, port: int, protocol: str = "tcp", seconds: float = 1.0) -> bool:
        """Whether what listens there answers."""
        program = (
            "import socket, sys\n"
            "address, port, kind, limit = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])\n"
            "s = socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET,"
            " socket.SOCK_STREAM if kind == 'tcp' else socket.SOCK_DGRAM)\n"
            "s.settimeout(limit); s.connect((address, port)); s.send(b'hello\\n'); assert s.recv(9) == b'hello\\n'\n"
        )
        return self.succeeds(sys.executable, "-c", program, address, str(port), protocol, str(seconds))

    def start(self, *command: str) -> "subprocess.Popen[str]":
        """A process inside."""
        process = subprocess.Popen(
            [ENTER, f"--net=/run/netns/{self.namespace}", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.processes.append(process)
        return process


@dataclass
class Place:
    """A hypervisor's namespace, its plug, its guests."""

    name: str
    plug: BridgePlug
    place: NetworkPlace
    directory: Path
    guests: list[Guest] = field(default_factory=list)

    def run(self, *command: str, check: bool = True, given: str = "") -> str:
        """What the command said, where the hypervisor's networks are."""
        return run(*self.place.prefix, *command, check=check, given=given).stdout

    def close(self) -> None:
        """Nothing of it stays."""
        BridgePlug(self.place, self.directory).apply(document([], [], revision=1))
        left = self.run("ip", "-json", "link", "show")
        names = [line.split()[0] for line in run("ip", "netns", "list").stdout.splitlines()]
        for guest in self.guests:
            for process in guest.processes:
                process.kill()
                process.wait()
            run("ip", "netns", "delete", guest.namespace)
        run("ip", "netns", "delete", self.name)
        assert not any(f'"{prefix}' in left for prefix in ("knb", "knx", "kns", "knr", "knu", "tp"))
        assert not [name for name in names if name.startswith((f"{self.name}-net", f"{self.name}-router"))]

    def guest(self, port: HostPort, prefix_length: int = 24, *, configured: bool = True) -> Guest:
        """A guest with this port, plugged: a veth has the tap's name before it would be made."""
        tap, namespace = tap_name(port.id), f"{self.name}-g{len(self.guests)}"
        run("ip", "netns", "add", namespace)
        guest = Guest(namespace, port, port.addresses[0].address if port.addresses else "", prefix_length)
        self.guests.append(guest)
        self.run("ip", "link", "add", tap, "type", "veth", "peer", "name", "eth0", "address", port.mac)
        self.run("ip", "link", "set", "eth0", "netns", f"/run/netns/{namespace}")
        guest.run("ip", "link", "set", "lo", "up")
        guest.run("ip", "link", "set", "eth0", "up")
        if configured:
            for address in port.addresses:
                length = "64" if ":" in address.address else str(prefix_length)
                nodad = ["nodad"] if ":" in address.address else []
                guest.run("ip", "address", "add", f"{address.address}/{length}", "dev", "eth0", *nodad)
        made = self.plug.plug(port_spec(port))
        guest.run("ip", "link", "set", "eth0", "mtu", str(made.mtu))
        return guest


def port_spec(port: HostPort) -> PortSpec:
    """As the driver gives it."""
    return PortSpec(mac=port.mac, network=port.network_id, id=port.id, kind=NetworkBackendKind.BRIDGE)


def new_id() -> str:
    """Of anything."""
    return str(uuid.uuid4())


_macs = iter(range(1, 1 << 20))


def network(cidr: str = "10.50.0.0/24", **more: object) -> NetworkSpec:
    """A network with one subnet, its gateway the first address."""
    gateway = str(ipaddress.ip_network(cidr)[1])
    return NetworkSpec(id=new_id(), subnets=(SubnetSpec(id=new_id(), cidr=cidr, gateway=gateway),), **more)  # type: ignore[arg-type]


def port_in(of: NetworkSpec, *addresses: str, **more: object) -> HostPort:
    """A port with these addresses in the network's subnets, each in the one of its version."""
    number = next(_macs)
    mac = f"fa:16:3e:{number >> 16 & 255:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"
    fixed = tuple(
        FixedAddress(next(each.id for each in of.subnets if (":" in each.cidr) == (":" in address)), address)
        for address in addresses
    )
    return HostPort(**{"id": new_id(), "network_id": of.id, "mac": mac, "addresses": fixed, **more})  # type: ignore[arg-type]


def rule(direction: Direction, **more: object) -> GroupRule:
    """A rule of a group."""
    return GroupRule(id=new_id(), direction=direction, **more)  # type: ignore[arg-type]


def group(*rules: GroupRule, **more: object) -> GroupSpec:
    """A group of these rules."""
    return GroupSpec(**{"id": new_id(), "rules": rules, **more})  # type: ignore[arg-type]


OPEN = group(*(rule(way, ip_version=version) for way in Direction for version in (4, 6)))
"""Lets everything through."""


def document(
    networks: Sequence[NetworkSpec],
    ports: Sequence[HostPort],
    groups: Sequence[GroupSpec] = (OPEN,),
    revision: int = 1,
    **more: object,
) -> HostNetworks:
    """A document of these."""
    return HostNetworks(revision=revision, networks=tuple(networks), ports=tuple(ports), groups=tuple(groups), **more)  # type: ignore[arg-type]
