"""What no host can give of machine, buses and video together, by what hosts report of their machines. Pure.

A host that reports nothing of machines (its agent is of an earlier release, or it is simulated) may have any.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from computeagent.protocol.guest_disks import disk_bus_of
from computeagent.protocol.guest_machine import MACHINE, is_q35, machine_of
from controlplane.kernel.texts import phrase as _

SHOWN_MAX = 8


@dataclass(frozen=True, slots=True)
class Machines:
    """Machines that have the same, as a host reports them."""

    names: frozenset[str]
    disk_buses: frozenset[str] = frozenset()
    video_models: frozenset[str] = frozenset()


def machine_problems(properties: Mapping[str, str], hosts: Sequence[Sequence[Machines]]) -> Iterator[str]:
    """Sentences that name the keys which no host can give together. `hosts`: each different report once.

    A bus or model is judged only where some machine of the fleet is said to have it: what libvirt does not tell of at
    all, traits do.
    """
    machine = properties.get(MACHINE, "")
    if not machine or not hosts or not all(hosts):
        return
    every = [one for reported in hosts for one in reported]
    fitting = [one for one in every if machine in one.names]
    if not fitting:
        names = sorted({name for one in every for name in one.names})
        yield _(
            "{key}={machine:.80} of the image: no host has such a machine; hosts have {names}.",
            key=MACHINE,
            machine=machine,
            names=_shown(names),
        )
        return
    for key, word, attribute in _asked(properties):
        there = {known for one in fitting for known in getattr(one, attribute)}
        if word not in there and any(word in getattr(one, attribute) for one in every):
            yield _(
                "{key}={value:.80} of the image goes with no {machine_key}={machine:.80} that a host has; it has "
                "{there}.",
                key=key,
                value=properties[key],
                machine_key=MACHINE,
                machine=machine,
                there=_shown(sorted(there)),
            )


def disk_bus_problems(
    specs: Mapping[str, str], properties: Mapping[str, str], buses: Collection[str], hosts: Sequence[Sequence[Machines]]
) -> Iterator[str]:
    """The same of the buses of disks that the request itself names."""
    machine = machine_of(specs, properties)
    for bus in sorted(buses):
        if is_without_bus(machine, bus, hosts):
            yield _(
                "disk_bus={bus} goes with no machine of type {machine:.80}, which {key} of the image or what it needs "
                "asks for.",
                bus=bus,
                machine=machine,
                key=MACHINE,
            )


def is_without_bus(machine: str, bus: str, hosts: Sequence[Sequence[Machines]]) -> bool:
    """Whether a machine of this name has no such bus for disks; where hosts do not tell, only Q35 is known."""
    there = disk_buses_of(machine, hosts)
    return bus not in there if there and all(hosts) else bus == "ide" and is_q35(machine)


def disk_buses_of(machine: str, hosts: Sequence[Sequence[Machines]]) -> frozenset[str]:
    """The buses that some host reports for machines of this name; none where no host tells."""
    fitting = [one for reported in hosts for one in reported if machine in one.names]
    return frozenset().union(*(one.disk_buses for one in fitting))


def _asked(properties: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Key, bus or model, and where machines have it. Disks of a root device called hda are on the IDE bus."""
    key = "hw_disk_bus" if "hw_disk_bus" in properties else "img_root_device_name"
    if key in properties:
        yield key, disk_bus_of(properties), "disk_buses"
    for key, attribute in (("hw_cdrom_bus", "disk_buses"), ("hw_video_model", "video_models")):
        if value := properties.get(key, "").lower():
            yield key, value, attribute


def _shown(words: Sequence[str]) -> str:
    more = f" +{len(words) - SHOWN_MAX}" if len(words) > SHOWN_MAX else ""
    return ", ".join(words[:SHOWN_MAX]) + more
