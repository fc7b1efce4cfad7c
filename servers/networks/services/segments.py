"""VXLAN ids: no two networks have one, which the constraint sees to; the search only makes collisions rare."""

import secrets

from controlplane.kernel.texts import phrase as _
from servers.conf import server_options
from servers.models import Network
from servers.networks.domain.addresses import AddressRange, free_numbers
from servers.networks.domain.errors import NoNetworkAvailable
from servers.networks.domain.networks import segment_search

WINDOW = 2048


def segment_free() -> int:
    """An id that no network has now, from some place of the range on. Raises NoNetworkAvailable.

    It begins at a random place, so that two who look at once mostly find different ones.
    """
    options = server_options()
    first, last = options.network_segment_min, options.network_segment_max
    if first <= last:
        start = first + secrets.randbelow(last - first + 1)
        for low, high in segment_search(first, last, start):
            if (found := _free_within(low, high)) is not None:
                return found
    raise NoNetworkAvailable(_("All VXLAN ids from {first} to {last} are taken.", first=first, last=last))


def _free_within(first: int, last: int) -> int | None:
    """The first free id of a range, whose taken ones are read in windows."""
    while first <= last:
        rows = Network.objects.filter(segment__gte=first, segment__lte=last).order_by("segment")
        taken = [number for number in rows.values_list("segment", flat=True)[:WINDOW] if number is not None]
        end = taken[-1] if len(taken) == WINDOW else last
        if (found := next(free_numbers(AddressRange(first, end), taken), None)) is not None:
            return found
        first = end + 1
    return None
