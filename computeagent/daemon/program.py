"""From options to an agent that runs: its driver, its control plane, its end."""

import logging
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from computeagent.agent.instance_lock import AgentAlreadyRunning
from computeagent.agent.live_consoles import ConsoleDialer
from computeagent.agent.loop import Agent
from computeagent.agent.options import AgentOptions
from computeagent.agent.ownership import HostRefused, host_name_require
from computeagent.agent.retry import backoff_s
from computeagent.conf import HostSettings
from computeagent.daemon.host_settings import host_options, place_options, plug_maker, pools_of_host
from computeagent.drivers.base import Driver, DriverError
from computeagent.drivers.factory import driver_open
from computeagent.networks.absent import NoPlug
from computeagent.networks.base import HostPlug, NetworkError
from computeagent.networks.memory import MemoryPlug
from computeagent.networks.placed import PlacedPlug
from computeagent.networks.places.names import PUBLIC
from computeagent.networks.places.place import HypervisorPlace, OwnNamespace, place_of
from computeagent.protocol.conductor import Conductor
from computeagent.transport.address import ControlPlaneAddress
from computeagent.transport.console_stream import console_dial
from computeagent.transport.http_conductor import enrol, http_conductor
from computeagent.transport.secret_file import SecretFile
from computeagent.volumes.base import VolumeBackend
from controlplane.kernel.errors import Forbidden, Invalid, Unavailable
from controlplane.kernel.request_scope import request_id_scope

log = logging.getLogger(__name__)
ENROL_TRIES = 10
SIMULATED = ("fake", "test")


def agent_of_arguments(given: Namespace, settings: HostSettings, conductor: Conductor) -> Agent:
    """The agent that these options describe; `state` must be set. Raises Invalid."""
    place, plug = host_networks(given, settings)
    is_simulated = urlsplit(given.libvirt_uri).scheme in SIMULATED
    pools = pools_of_host(vars(given), settings, given.state.absolute(), is_simulated=is_simulated)
    open_driver = driver_source(given, settings, place, guest_directories=pools.directories)
    options = AgentOptions(
        max_concurrent_builds=given.max_concurrent_builds,
        reap_orphans=not given.keep_orphans,
        trust_listing=given.trust_listing,
        counters_interval_s=settings.guest_counters_interval_s,
        shutdown_timeout_s=settings.shutdown_timeout_s,
        soft_reboot_timeout_s=settings.soft_reboot_timeout_s,
    )
    dial, state_dir = partial(console_dial, _address(given), SecretFile(given.state.absolute())), given.state.absolute()
    return agent_make(
        given.host,
        state_dir,
        open_driver,
        options,
        conductor,
        plug=plug,
        pools=pools.backends,
        dial_console=dial,
    )


def agent_make(
    host: str,
    state_dir: Path,
    open_driver: Callable[[], Driver],
    options: AgentOptions,
    conductor: Conductor,
    *,
    plug: HostPlug | None = None,
    pools: Mapping[str, VolumeBackend] | None = None,
    dial_console: ConsoleDialer | None = None,
) -> Agent:
    """The agent of `host`, whose work is logged under the ids of the requests that it serves."""
    return Agent(
        host=host,
        conductor=conductor,
        open_driver=open_driver,
        state_dir=state_dir,
        plug=plug,
        pools=pools,
        options=options,
        request_scope=request_id_scope,
        dial_console=dial_console,
    )


def driver_source(
    given: Namespace,
    settings: HostSettings,
    place: HypervisorPlace | None = None,
    *,
    guest_directories: tuple[Path, ...] = (),
) -> Callable[[], Driver]:
    """Opens the driver when called; its files are apart from the agent's own. `guest_directories` has more that guests
    open. Raises Invalid.
    """
    set_aside = host_options(vars(given), settings, guest_directories=guest_directories)

    def opened() -> Driver:
        return driver_open(
            given.libvirt_uri,
            given.state.absolute() / "driver",
            given.host,
            vcpus=given.vcpus,
            memory_mib=given.memory_mib,
            disk_gib=given.disk_gib,
            shared_dir=given.image_cache,
            has_nat_network=given.nat_network,
            host_ip=_host_ip(given.host_ip, place),
            options=set_aside,
            place=place,
        )

    return opened


def host_networks(given: Namespace, settings: HostSettings) -> tuple[HypervisorPlace | None, HostPlug]:
    """Where this hypervisor's networks are, None where it carries none, and what carries them. Raises Invalid."""
    options, state_dir = place_options(vars(given), settings), given.state.absolute()
    if options is None:
        return None, NoPlug()
    if urlsplit(given.libvirt_uri).scheme in SIMULATED:
        return None, MemoryPlug(state_dir / "driver" / "networks.json", physical_networks=(PUBLIC,))
    try:
        place = place_of(given.libvirt_uri, given.host, options)
    except NetworkError as error:
        return None, NoPlug(str(error))
    return place, PlacedPlug(place, plug_maker(vars(given), settings, state_dir))


def _host_ip(given: str, place: HypervisorPlace | None) -> str:
    """The address by which other hosts reach this one: that of its place, where it has one of its own."""
    if not isinstance(place, OwnNamespace):
        return given
    try:
        return place.ensure().underlay_address
    except NetworkError as error:
        raise DriverError(f"the networks of {place.host} have no place: {error}") from error


def conductor_of_arguments(given: Namespace, pause: Callable[[float], object]) -> Conductor:
    """The control plane over HTTP, enrolled where it was not yet. Raises KilonovaError that says what to do."""
    # Before a token is traded: its secret would take the place of the other host's.
    host_name_require(given.state.absolute(), given.host)
    address, secret = _address(given), SecretFile(given.state.absolute())
    _warn_in_clear(address)
    if secret.read() is None:
        enrol_of_arguments(given, pause)
    elif given.enrol_token:
        # For a host that was revoked. A token of an earlier start is used up, and whatever a cut left is ended by the
        # first rotation, so in either case the agent goes on.
        try:
            _enrol(address, secret, given, pause, tries=1)
        except (Forbidden, Unavailable) as error:
            log.info("the secret of an earlier start stays: %s", error.message)
    return http_conductor(address, secret)


def enrol_only(given: Namespace, pause: Callable[[float], object]) -> None:
    """Trade the token for the secret of the host, and no more. Raises KilonovaError that says what to do."""
    _warn_in_clear(_address(given))
    enrol_of_arguments(given, pause)


def enrol_of_arguments(given: Namespace, pause: Callable[[float], object]) -> None:
    """Trade the token for the secret of the host. Raises KilonovaError that says what to do."""
    if not given.enrol_token:
        raise Invalid(
            f"Host {given.host} is not enrolled. Ask the control plane for a token (there: manage.py agent_enrol "
            f"--host {given.host}) and give it as --enrol-token.",
            field="enrol_token",
        )
    host_name_require(given.state.absolute(), given.host)
    _enrol(_address(given), SecretFile(given.state.absolute()), given, pause, tries=ENROL_TRIES)


def _address(given: Namespace) -> ControlPlaneAddress:
    return ControlPlaneAddress(given.control_plane, given.ca_file, given.cert_file, given.key_file)


def _warn_in_clear(address: ControlPlaneAddress) -> None:
    if address.is_in_clear:
        log.warning(
            "%s is not https: this host's token, its secret and all that it is told can be read and changed on the way",
            address.url,
        )


def _enrol(
    address: ControlPlaneAddress, secret: SecretFile, given: Namespace, pause: Callable[[float], object], *, tries: int
) -> None:
    for failures in range(1, tries + 1):
        try:
            enrol(address, secret, host=given.host, token=given.enrol_token)
        except Unavailable as error:
            if failures == tries:
                raise
            log.warning("%s; trying again", error.message)
            pause(error.extra.get("wait_s") or backoff_s(failures))
        else:
            log.info("host %s is enrolled", given.host)
            return


def agent_serve(agent: Agent) -> str:
    """Run until a signal asks to stop, and end the process at once: a thread may still hang in a call that does not
    come back. Returns why it could not start.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: agent.stop())
    try:
        code = agent.run()
    except (AgentAlreadyRunning, HostRefused, DriverError) as error:
        return error.message
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
