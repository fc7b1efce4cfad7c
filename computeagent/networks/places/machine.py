"""The networks that the hypervisors of one machine share, and the place of each (`names` draws them).

All of it is kept by a directory: who makes a place there, finds it again, or removes it needs nothing else. `ensure`
puts right what is missing and costs a few reads when nothing is.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from computeagent.networks.base import NetworkError, NetworkPlace
from computeagent.networks.places.commands import links, run
from computeagent.networks.places.grounds import Ground, RootGround, UserGround, namespace_ensure, namespaces_of
from computeagent.networks.places.names import (
    MAX_HYPERVISORS,
    PUBLIC,
    PUBLIC_BRIDGE,
    UNDERLAY,
    UNDERLAY_PREFIX,
    UPLINK,
    names_of,
    public_cidr_choose,
    underlay_address,
)
from computeagent.networks.places.way_out import WayOut, way_out_of

T = TypeVar("T")
UNFILTERED = "bridge-nf-call-iptables", "bridge-nf-call-ip6tables", "bridge-nf-call-arptables"


@dataclass(frozen=True, slots=True)
class MachineChoices:
    """What was decided once: the range of the outside network, and the number of each host."""

    public_cidr: str = ""
    hosts: dict[str, int] = field(default_factory=dict)


class MachineNetworks:
    """Those of the directory `directory`, which is of the user who runs this."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.names = names_of(directory)
        is_root = os.geteuid() == 0
        self.ground: Ground = RootGround(self.names) if is_root else UserGround(self.names, directory)
        self.way_out: WayOut = way_out_of(self.ground, self.names, directory)

    def choices(self) -> MachineChoices:
        """What was decided; nothing yet before the first `ensure`."""
        with suppress(FileNotFoundError, ValueError, TypeError):
            return MachineChoices(**json.loads((self.directory / "choices.json").read_text()))
        return MachineChoices()

    def ensure(self, *, public_cidr: str = "") -> MachineChoices:
        """Have the middle with its bridges. `public_cidr` is the wanted range of the outside network, which counts
        where none was chosen before. Raises NetworkError.
        """
        return self._on_ground(lambda: self._ensure(public_cidr))

    def _ensure(self, public_cidr: str = "") -> MachineChoices:
        with self._locked():
            choices = self.choices()
            if not choices.public_cidr:
                choices = replace(choices, public_cidr=public_cidr_choose(public_cidr, machine_routes()))
                self._keep(choices)
            self.ground.ensure()
            middle = self.ground.prefix(self.names.middle)
            have = links(middle)
            if not {PUBLIC, UNDERLAY} <= have.keys() or "UP" not in have[PUBLIC]["flags"]:
                self._middle_make(middle, set(have))
            return choices

    def way_out_ensure(self) -> None:
        """Have the outside reached. Raises NetworkError that says why it is not: the rest works without."""
        with self._locked():
            self.way_out.ensure(self.choices().public_cidr)

    def place(self, host: str) -> NetworkPlace:
        """Have the namespace of a host, joined to the others'. Raises NetworkError."""
        return self._on_ground(lambda: self._place(host))

    def _place(self, host: str) -> NetworkPlace:
        self._ensure()
        with self._locked():
            number = self._number(host)
            namespace = self.names.hypervisor(number)
            namespace_ensure(self.ground, namespace)
            inside = self.ground.prefix(namespace)
            have, beside = links(inside), links(self.ground.prefix(self.names.middle))
            is_joined = all(beside.get(end, {}).get("master") == bridge for end, bridge in _ends(number).values())
            if not is_joined or "UP" not in have.get(PUBLIC_BRIDGE, {"flags": ()})["flags"]:
                self._hypervisor_make(number, namespace, set(have))
        return NetworkPlace(
            prefix=inside,
            underlay_address=underlay_address(number),
            bridge_mappings={PUBLIC: PUBLIC_BRIDGE},
            tap_uid=self.ground.tap_uid,
            has_namespaces=True,
            namespace_prefix=namespace,
        )

    def holds(self, host: str, pid: int) -> bool:
        """Whether the process is in this host's namespace."""
        number = self.choices().hosts.get(host)
        if number is None:
            return False
        try:
            here = self.ground.namespace_file(self.names.hypervisor(number)).stat()
            there = Path(f"/proc/{pid}/ns/net").stat()
        except OSError:
            return False
        return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)

    def remove(self) -> bool:
        """End and remove all of it but what was decided. Whether there was anything. Raises NetworkError."""
        if not self.directory.exists():
            return False
        with self._locked():
            had_way_out = self.way_out.remove()
            if not self.ground.exists():
                return had_way_out
            self.ground.remove()
            return True

    def namespaces(self) -> dict[str, str]:
        """The namespaces that are there, by the host that has them; the middle's host is empty."""
        by_number = {self.names.hypervisor(number): host for host, number in self.choices().hosts.items()}
        return {by_number.get(name, ""): name for name in namespaces_of(self.ground, self.names) if _is_place(name)}

    def _on_ground(self, work: Callable[[], T]) -> T:
        """Do it, and once more where the ground went meanwhile: who is killed may still be there at a first look."""
        try:
            return work()
        except NetworkError:
            if self.ground.stands():
                raise
            return work()

    def _middle_make(self, middle: tuple[str, ...], have: set[str]) -> None:
        lines = ["link set lo up"]
        for bridge in (PUBLIC, UNDERLAY):
            if bridge not in have:
                lines.append(f"link add {bridge} type bridge")
            lines += [f"link set {bridge} addrgenmode none", f"link set {bridge} up"]
        run(("ip", "-batch", "-"), prefix=middle, given="\n".join(lines))
        # What crosses these bridges is between hypervisors, and nobody's rules but theirs are for it.
        settings = [f"net.bridge.{name}=0" for name in UNFILTERED]
        with suppress(NetworkError):  # without br_netfilter there is nothing to turn off
            run(("sysctl", "-q", "-w", *settings), prefix=middle)

    def _hypervisor_make(self, number: int, namespace: str, have: set[str]) -> None:
        """A pair that was half made, or whose other end went with the middle, is made anew."""
        inside, middle = self.ground.prefix(namespace), self.ground.prefix(self.names.middle)
        ends = _ends(number)
        left = set(links(middle)) & {end for end, _ in ends.values()}
        remove = [f"link delete {name}" for name in ends if name in have]
        if remove:
            run(("ip", "-batch", "-"), prefix=inside, given="\n".join(remove))
            left = set(links(middle)) & left
        # Pairs are made in the middle by the name of the namespace, so this needs the ground's own view of names.
        lines = [f"link delete {name}" for name in left]
        for name, (end, bridge) in ends.items():
            lines += [f"link add {end} type veth peer name {name} netns {namespace}"]
            lines += [f"link set {end} addrgenmode none", f"link set {end} master {bridge} up"]
        run(("ip", "-batch", "-"), prefix=middle, given="\n".join(lines))
        lines = ["link set lo up", f"link set {UNDERLAY} addrgenmode none", f"link set {UNDERLAY} up"]
        lines += [f"address add {underlay_address(number)}/{UNDERLAY_PREFIX} dev {UNDERLAY}"]
        if PUBLIC_BRIDGE not in have:
            lines += [f"link add {PUBLIC_BRIDGE} type bridge"]
        for name in (UPLINK, PUBLIC_BRIDGE):
            lines += [f"link set {name} addrgenmode none", f"link set {name} up"]
        lines += [f"link set {UPLINK} master {PUBLIC_BRIDGE}"]
        run(("ip", "-batch", "-"), prefix=inside, given="\n".join(lines))

    def _number(self, host: str) -> int:
        """Given once, and kept: its underlay address is told to others."""
        choices = self.choices()
        if host in choices.hosts:
            return choices.hosts[host]
        taken = set(choices.hosts.values())
        number = next((each for each in range(1, MAX_HYPERVISORS) if each not in taken), 0)
        if not number:
            raise NetworkError(f"{self.directory} has {MAX_HYPERVISORS} hosts already")
        self._keep(replace(choices, hosts={**choices.hosts, host: number}))
        return number

    def _keep(self, choices: MachineChoices) -> None:
        fresh = self.directory / "choices.json.new"
        fresh.write_text(json.dumps(asdict(choices)))
        fresh.replace(self.directory / "choices.json")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One at a time: agents of one machine start together."""
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise NetworkError(f"{self.directory} cannot be used: {error}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        except OSError as error:
            raise NetworkError(f"networks of {self.directory}: {error}") from error
        finally:
            os.close(descriptor)


def machine_routes() -> tuple[str, ...]:
    """The ranges that this machine has routes to. Raises NetworkError."""
    routes = json.loads(run(("ip", "-json", "-4", "route", "show", "table", "all")) or "[]")
    return tuple(str(route["dst"]) for route in routes if route.get("dst") not in {None, "default"})


def _ends(number: int) -> dict[str, tuple[str, str]]:
    """A hypervisor's pairs: by the name in its namespace, the name in the middle and the bridge there."""
    return {UNDERLAY: (f"u{number}", UNDERLAY), UPLINK: (f"p{number}", PUBLIC)}


def _is_place(name: str) -> bool:
    """The middle or a hypervisor's, and none that a hypervisor made."""
    return name.count("-") <= 2
