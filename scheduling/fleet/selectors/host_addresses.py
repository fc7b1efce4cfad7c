"""Where hosts are reached by other hosts."""

from collections.abc import Collection

from scheduling.models import ComputeNode


def host_addresses(hosts: Collection[str]) -> dict[str, str]:
    """The address by which each of these hosts is reached, as its agent told; hosts that told none are left out."""
    nodes = ComputeNode.objects.filter(host__in=hosts).exclude(host_ip="")
    return dict(nodes.values_list("host", "host_ip"))
