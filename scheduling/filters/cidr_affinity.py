"""SimpleCIDRAffinityFilter: near an address."""

from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import ClassVar

import numpy as np

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter

ADDRESS_HINT, PREFIX_HINT, DEFAULT_PREFIX = "build_near_host_ip", "cidr", "/24"


class SimpleCIDRAffinityFilter(Filter):
    """The host's address lies in the network of hint `build_near_host_ip` with prefix `cidr` (/24)."""

    run_filter_once_per_request: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts elsewhere or without address; all, if the hints name no network; none without the hint."""
        near = spec.get_scheduler_hint(ADDRESS_HINT)
        if not near:
            return []
        wanted = f"{near}{spec.get_scheduler_hint(PREFIX_HINT, DEFAULT_PREFIX)}"
        refuse = partial(hosts.refuse, reason=RefusalReason.NOT_IN_NETWORK, wanted=wanted)
        try:
            network = ip_network(wanted, strict=False)
        except ValueError as error:
            # Nova fails the whole request here; the hints are the user's own mistake, and the refusal says which.
            return refuse(np.ones(len(hosts), dtype=np.bool_), available="no such network", detail=str(error))
        addresses = [hosts.table.host_ip[row] for row in hosts.rows.tolist()]
        outside = np.array([not _inside(address, network) for address in addresses], dtype=np.bool_)
        return refuse(outside, available=np.array(addresses))


def _inside(address: str, network: IPv4Network | IPv6Network) -> bool:
    try:
        return ip_address(address) in network
    except ValueError:
        return False
