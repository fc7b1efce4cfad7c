"""Request filters: what the request, its flavor and image ask of hosts before filters and room are judged.

Each is a pure function that adds traits or aggregates to the request, so that Placement's search leaves out at once
what could never serve; and each host it leaves out has its reason.
"""

from scheduling.request_filters.base import Addition, RequestFilter, Surroundings
from scheduling.request_filters.by_feature import OWNER_SINCE, STATUS_DISABLED
from scheduling.request_filters.chain import REQUEST_FILTERS, FilteredRequest, filter_request, surroundings_of
from scheduling.request_filters.refusals import refuse_by_request, refuse_lost

__all__ = [
    "OWNER_SINCE",
    "REQUEST_FILTERS",
    "STATUS_DISABLED",
    "Addition",
    "FilteredRequest",
    "RequestFilter",
    "Surroundings",
    "filter_request",
    "refuse_by_request",
    "refuse_lost",
    "surroundings_of",
]
