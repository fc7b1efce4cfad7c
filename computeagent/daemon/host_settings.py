"""What an operator sets aside of an agent's host, from its command line or else from the settings."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from computeagent.conf import HostSettings
from computeagent.drivers.device_spec import device_specs_of_text
from computeagent.drivers.host_options import HostOptions, reserved_pages_parse
from controlplane.kernel.cpu_list import parse_cpus


def host_arguments_add(parser: ArgumentParser) -> None:
    """The options; each overrides the setting of its name."""
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


def host_options(arguments: Mapping[str, Any], settings: HostSettings) -> HostOptions:
    """Raises Invalid for a text that is not what its option takes."""

    def given(name: str, otherwise: str) -> str:
        value = arguments.get(name)
        return otherwise if value is None else str(value)

    pages = arguments.get("reserved_huge_pages")
    texts = settings.reserved_huge_pages.split(";") if pages is None else pages
    return HostOptions(
        cpu_dedicated_set=parse_cpus(given("cpu_dedicated_set", settings.cpu_dedicated_set), "cpu_dedicated_set"),
        cpu_shared_set=parse_cpus(given("cpu_shared_set", settings.cpu_shared_set), "cpu_shared_set"),
        reserved_pages=tuple(reserved_pages_parse(text) for text in texts if text.strip()),
        device_specs=device_specs_of_text(given("pci_device_spec", settings.pci_device_spec)),
        unused_images_s=settings.image_cache_unused_s,
    )
