"""One request to the Placement API."""

from dataclasses import dataclass
from datetime import datetime

from django.http import HttpResponse
from django.utils.http import http_date

from controlplane.kernel.clock import utc_now
from controlplane.openstack.call import Call
from placement.openstack.access import Access, WireCaller, require_access

CACHE_HEADERS_SINCE = 15


@dataclass(frozen=True, slots=True)
class PlacementCall(Call):
    """A call with who makes it: None at the root alone."""

    caller: WireCaller | None

    def require(self, access: Access, *, project_id: str | None = None) -> None:
        """For a view that knows only by itself whose data it is asked for. Raises Fault 403."""
        if self.caller is not None:
            require_access(self.caller, access, project_id=project_id)

    def cache_headers(self, response: HttpResponse, modified: datetime | None) -> None:
        """From 1.15 on every answer says when its resource last changed, and that it must be asked for again."""
        if self.minor >= CACHE_HEADERS_SINCE:
            response["Last-Modified"] = http_date((modified or utc_now()).timestamp())
            response["Cache-Control"] = "no-cache"
