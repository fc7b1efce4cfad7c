"""Networks of the hypervisors of one machine: made where the machine can, and said what is missing where it cannot."""

import os
from contextlib import suppress
from pathlib import Path

from computeagent.conf import HostSettings
from computeagent.drivers.libvirt.private.daemon import private_daemon_impossible
from computeagent.networks.base import NetworkError
from computeagent.networks.bridge.plug import BridgePlug
from computeagent.networks.places.commands import run
from computeagent.networks.places.machine import MachineNetworks
from computeagent.networks.places.probe import places_lack, way_out_lack
from controlplane.infra.conf import options_now
from controlplane.launcher.announcer import Announcer
from controlplane.launcher.hypervisors import network_carriers, networks_of

BRIDGE_FILTER = Path("/proc/sys/net/bridge")
EMBEDDED = "what was begun without a libvirtd of its own stays so while it has guests, and carries none"


def networks_prepare(state_dir: Path, announcer: Announcer, *, count: int) -> str:
    """Have what `count` hypervisors share, and the way outside. The range of the outside network; empty where guests
    get no networks here, which is said.
    """
    options = options_now(HostSettings)
    if options.network_backend == "none":
        return ""
    lack = list(places_lack())
    if daemon_lack := private_daemon_impossible():  # networks are those of private hypervisors
        lack.append(daemon_lack)
    if lack:
        announcer.warn(f"no networks between guests. Missing: {'; '.join(lack)}")
        return ""
    carriers = network_carriers(state_dir, count=count)
    if len(carriers) < count:
        which = f"on {count - len(carriers)} of {count} hypervisors" if carriers else "between guests"
        announcer.warn(f"no networks {which}: {EMBEDDED}")
    if not carriers:
        return ""
    machine = MachineNetworks(networks_of(state_dir))
    if os.geteuid() == 0 and not BRIDGE_FILTER.exists():
        with suppress(NetworkError):  # what is missing then is said below
            run(("modprobe", "br_netfilter"))
    try:
        choices = machine.ensure(public_cidr=options.external_network_cidr)
        # Before any network is made that no hypervisor here could carry.
        BridgePlug(machine.place(carriers[0]), machine.directory / "trial").open()
    except NetworkError as error:
        announcer.warn(f"no networks between guests: {error}")
        return ""
    if options.external_network_cidr not in {"", choices.public_cidr}:
        announcer.warn(f"the outside network stays {choices.public_cidr}: EXTERNAL_NETWORK_CIDR counts when it is made")
    try:
        machine.way_out_ensure()
    except NetworkError as error:
        announcer.warn(f"guests reach nothing outside of this machine: {way_out_lack() or error}")
    return choices.public_cidr
