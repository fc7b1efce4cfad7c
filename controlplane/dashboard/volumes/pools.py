"""Pages of storage pools, for administrators."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from controlplane.dashboard.lists.pages import list_response
from controlplane.dashboard.pages import page, show
from controlplane.dashboard.volumes.pool_listing import STORAGE_POOLS
from controlplane.identity.domain import Caller
from servers.volumes.selectors.pools import pool_get, promised_gib
from servers.volumes.selectors.volumes import volumes_visible

PAGE_SIZE = 50
SECTION = "storage-pools"


@require_safe
@page("storage_pools:read")
def pool_list(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """All pools, with how many volumes they have and how many hosts reach them."""
    return list_response(request, caller, STORAGE_POOLS)


@require_safe
@page("storage_pools:read")
def pool_detail(request: HttpRequest, caller: Caller, pool_id: uuid.UUID) -> HttpResponse:
    """One pool: who reaches it, what it can, what is in it."""
    pool = pool_get(pool_id=pool_id)
    volumes = volumes_visible(caller).filter(pool=pool.pk).order_by("name", "pk")
    context = {
        "pool": pool,
        "hosts": list(pool.hosts.all()),
        "volumes": list(volumes[:PAGE_SIZE]),
        "volume_count": volumes.count(),
        "promised_gib": promised_gib([pool.pk]).get(pool.pk, 0),
    }
    return show(request, caller, "dashboard/volumes/pool_detail.html", SECTION, **context)
