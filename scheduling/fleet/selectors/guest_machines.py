"""Which machines the hosts of the fleet can give to guests, as they report."""

from typing import Any

from scheduling.models import ComputeNode


def machines_reported() -> list[list[dict[str, Any]]]:
    """Each different report once, as `computeagent.protocol.hosts.GuestMachines` has it. Hosts of one kind report the
    same, so there are a few however many hosts there are.
    """
    return list(ComputeNode.objects.order_by().values_list("machines", flat=True).distinct())


def machines_of_host(*, host: str) -> list[dict[str, Any]]:
    """What this host reports, in the same form; nothing for a host that says nothing, or is unknown."""
    reports = ComputeNode.objects.filter(host=host).order_by().values_list("machines", flat=True)
    return [one for report in reports for one in report]
