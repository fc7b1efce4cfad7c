"""What cannot be of a host's cells and devices: given twice, or in use by nobody."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from computeagent.protocol.topology import GuestTopology, HostTopology, NUMACell
from computeagent.protocol.topology_json import host_to_dict
from controlplane.kernel.cpu_list import format_cpus
from controlplane.kernel.texts import phrase as _
from scheduling.topology.domain.numa.occupancy import occupied


@dataclass(frozen=True, slots=True)
class TopologyFinding:
    """One violation, of an instance or a compute node (its uuid as text), in a sentence."""

    subject: str
    message: str


def cpu_findings(
    host_name: str, node: str, host: HostTopology | None, guests: Mapping[str, GuestTopology]
) -> Iterator[TopologyFinding]:
    """`host` as stored, with its usage; `guests` are all claims of it, by instance."""
    yield from _twice(guests)
    counted, problems = occupied(host, guests)
    for instance, problem in problems.items():
        if "pinned already" not in problem:
            yield TopologyFinding(instance, _("on {host_name}: {problem}", host_name=host_name, problem=problem))
    if host is None or counted is None:
        return
    for stored, reported in zip(host.cells, counted.cells, strict=True):
        yield from _other_usage(host_name, node, stored, reported)


def device_findings(claims: Mapping[str, Sequence[str]]) -> Iterator[TopologyFinding]:
    """`claims` of one node: the addresses of its devices by instance."""
    owner_of: dict[str, str] = {}
    for instance, addresses in claims.items():
        for address in addresses:
            other = owner_of.setdefault(address, instance)
            if other != instance:
                yield TopologyFinding(
                    instance,
                    _("has the PCI device {address}, and so has instance {other}", address=address, other=other),
                )


def _twice(guests: Mapping[str, GuestTopology]) -> Iterator[TopologyFinding]:
    owner_of: dict[int, str] = {}
    for instance, guest in guests.items():
        cpus = frozenset[int]().union(*(cell.host_cpus for cell in guest.cells))
        for cpu in sorted(cpus):
            other = owner_of.setdefault(cpu, instance)
            if other != instance:
                yield TopologyFinding(
                    instance, _("has the dedicated CPU {cpu}, and so has instance {other}", cpu=cpu, other=other)
                )


def _other_usage(host_name: str, node: str, stored: NUMACell, reported: NUMACell) -> Iterator[TopologyFinding]:
    nobodys, unreported = stored.pinned_cpus - reported.pinned_cpus, reported.pinned_cpus - stored.pinned_cpus
    where = f"{host_name}, NUMA cell {stored.id}"
    if nobodys:
        yield TopologyFinding(
            node,
            _("{where}: CPU {nobodys} is pinned, and no instance has it", where=where, nobodys=format_cpus(nobodys)),
        )
    if unreported:
        yield TopologyFinding(
            node,
            _(
                "{where}: CPU {unreported} is an instance's, and counts as free",
                where=where,
                unreported=format_cpus(unreported),
            ),
        )
    if not nobodys and not unreported and stored != reported:
        now, then = (host_to_dict(HostTopology((cell,)))["cells"][0] for cell in (stored, reported))
        names = sorted(name for name in {*now, *then} if now.get(name) != then.get(name))
        differences = ", ".join(f"{name} {now.get(name, 0)} instead of {then.get(name, 0)}" for name in names)
        yield TopologyFinding(
            node, _("{where} is not what its instances have: {differences}", where=where, differences=differences)
        )
