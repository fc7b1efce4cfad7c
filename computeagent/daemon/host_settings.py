"""What an operator sets aside of an agent's host, from its command line or else from the settings."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from computeagent.conf import HostSettings
from computeagent.drivers.cpu_options import CpuMode, cpu_options_parse
from computeagent.drivers.device_spec import device_specs_of_text
from computeagent.drivers.host_options import DriveFormat, HostOptions, mdev_types_parse, reserved_pages_parse
from computeagent.networks.base import HostPlug, NetworkError, NetworkPlace
from computeagent.networks.bridge.plug import BridgePlug
from computeagent.networks.ovn.plug import OvnPlug
from computeagent.networks.places.place import PlaceOptions, bridge_mappings_parse
from computeagent.volumes.factory import HostPools, host_pools
from controlplane.kernel.cpu_list import parse_cpus
from controlplane.kernel.errors import Invalid


def host_arguments_add(parser: ArgumentParser) -> None:
    """The options; each overrides the setting of its name."""
    parser.add_argument(
        "--cpu-mode",
        choices=[each.value for each in CpuMode],
        help="The CPU of guests (default: host-passthrough, under emulation maximum).",
    )
    parser.add_argument("--cpu-models", metavar="MODELS", help="Models of --cpu-mode custom, the preferred one first.")
    parser.add_argument(
        "--cpu-model-extra-flags",
        metavar="FLAGS",
        help="CPU features that guests have or lack: --cpu-model-extra-flags=+pcid,-mpx.",
    )
    parser.add_argument("--cpu-dedicated-set", metavar="CPUS", help="CPUs to pin to: 2-7,^5 (Nova's option).")
    parser.add_argument("--cpu-shared-set", metavar="CPUS", help="CPUs for floating vCPUs and emulator threads.")
    parser.add_argument(
        "--reserved-huge-pages",
        metavar="PAGES",
        action="append",
        help="Pages kept from guests: node:0,size:2048,count:64. May be repeated.",
    )
    parser.add_argument(
        "--pci-device-spec", metavar="JSON", help="PCI devices that guests may have, as Nova's [pci]device_spec."
    )
    parser.add_argument(
        "--mdev-types", metavar="TYPES", help="Types of virtual GPUs to make: nvidia-35 (Nova's enabled_mdev_types)."
    )
    parser.add_argument(
        "--network-backend", choices=("bridge", "ovn", "none"), help="What carries networks (default: bridge)."
    )
    parser.add_argument("--ovs-database", metavar="ADDRESS", help="Open vSwitch's database, where it is elsewhere.")
    parser.add_argument(
        "--guest-max-connections", type=_count, help="Connections of one guest in networks of kind bridge; 0: any."
    )
    parser.add_argument("--bridge-mappings", metavar="NET:BRIDGE", help="Bridges to outside networks: public:br-ex.")
    parser.add_argument(
        "--network-directory", metavar="DIR", help="What several hypervisors of this machine share of networks."
    )
    parser.add_argument(
        "--volume-pool",
        metavar="NAME=KIND:PLACE",
        action="append",
        help="A pool of volumes, such as local=file:/var/lib/kilonova/volumes. May be repeated.",
    )
    parser.add_argument(
        "--config-drive-format",
        choices=[each.value for each in DriveFormat],
        help="What config drives are: iso9660 (a disc) or vfat (a disk, by mtools).",
    )


def host_options(
    arguments: Mapping[str, Any], settings: HostSettings, *, guest_directories: tuple[Path, ...] = ()
) -> HostOptions:
    """Raises Invalid for a text that is not what its option takes."""

    def given(name: str, otherwise: str) -> str:
        return _given(arguments, name, otherwise)

    pages = arguments.get("reserved_huge_pages")
    texts = settings.reserved_huge_pages.split(";") if pages is None else pages
    return HostOptions(
        cpu_dedicated_set=parse_cpus(given("cpu_dedicated_set", settings.cpu_dedicated_set), "cpu_dedicated_set"),
        cpu_shared_set=parse_cpus(given("cpu_shared_set", settings.cpu_shared_set), "cpu_shared_set"),
        reserved_pages=tuple(reserved_pages_parse(text) for text in texts if text.strip()),
        device_specs=device_specs_of_text(given("pci_device_spec", settings.pci_device_spec)),
        mdev_types=mdev_types_parse(given("mdev_types", settings.mdev_types)),
        unused_images_s=settings.image_cache_unused_s,
        config_drive_format=DriveFormat(given("config_drive_format", settings.config_drive_format)),
        guest_directories=guest_directories,
        cpu=cpu_options_parse(
            given("cpu_mode", settings.cpu_mode),
            given("cpu_models", settings.cpu_models),
            given("cpu_model_extra_flags", settings.cpu_model_extra_flags),
        ),
    )


def pools_of_host(
    arguments: Mapping[str, Any], settings: HostSettings, state_dir: Path, *, is_simulated: bool = False
) -> HostPools:
    """The pools of volumes that this host has or reaches. Raises Invalid."""
    given = arguments.get("volume_pool")
    return host_pools(
        [settings.volume_pools] if given is None else given, state_dir=state_dir, is_simulated=is_simulated
    )


def place_options(arguments: Mapping[str, Any], settings: HostSettings) -> PlaceOptions | None:
    """Where networks of this host are; None: it shall carry none. Raises Invalid."""
    if _given(arguments, "network_backend", settings.network_backend) == "none":
        return None
    underlay = str(arguments.get("host_ip") or "")
    directory = _given(arguments, "network_directory", settings.network_directory)
    try:
        address = ip_address(underlay) if underlay else None
        mappings = bridge_mappings_parse(_given(arguments, "bridge_mappings", settings.bridge_mappings))
    except (NetworkError, ValueError) as error:
        raise Invalid(str(error), field="networks") from error
    # Of a host that is known by its loopback alone no other host is told anything useful.
    is_alone = address is None or address.is_loopback
    return PlaceOptions(
        directory=Path(directory).absolute() if directory else None,
        bridge_mappings=mappings,
        underlay_address="" if is_alone else str(address),
    )


def plug_maker(
    arguments: Mapping[str, Any], settings: HostSettings, state_dir: Path
) -> Callable[[NetworkPlace], HostPlug]:
    """What carries networks at a place, not opened yet."""
    given = arguments.get("guest_max_connections")
    limit = settings.guest_max_connections if given is None else int(given)
    if _given(arguments, "network_backend", settings.network_backend) == "ovn":
        database = _given(arguments, "ovs_database", settings.ovs_database)
        return lambda place: OvnPlug(place, str(arguments["host"]), database, max_connections=limit)
    return lambda place: BridgePlug(place, state_dir / "networks", max_connections=limit)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _given(arguments: Mapping[str, Any], name: str, otherwise: str) -> str:
    value = arguments.get(name)
    return otherwise if value is None else str(value)
