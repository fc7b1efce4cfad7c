"""Aliases of PCI devices, as the settings name them."""

from collections.abc import Mapping
from functools import lru_cache

from scheduling.conf import scheduling_options
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.pci.alias import Alias, aliases_of_text
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.request import requests_of_flavor

_parsed = lru_cache(maxsize=8)(aliases_of_text)


def pci_aliases() -> Mapping[str, Alias]:
    """All aliases by name. The text of the settings is parsed once."""
    return _parsed(scheduling_options().pci_aliases)


def pci_requests_of(flavor: FlavorSnapshot, image: ImageSnapshot) -> tuple[PciRequest, ...]:
    """What `pci_passthrough:alias` of the flavor asks for; nothing for most. Raises Invalid for an unknown alias."""
    return requests_of_flavor(flavor, image, pci_aliases())
