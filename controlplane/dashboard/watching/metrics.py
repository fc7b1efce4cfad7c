"""`/metrics`: the installation in numbers, for Prometheus, made from rows: every web process gives the same."""

from django.db import Error as DatabaseFailure
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from controlplane.dashboard.watching.metrics_access import metrics_denial
from controlplane.infra.conf import metrics_options
from controlplane.infra.ttl_cache import TtlCache
from controlplane.kernel.exposition import CONTENT_TYPE, Sample, exposition, gauge
from controlplane.work.metrics import work_families
from scheduling.metrics import scheduling_families
from servers.instances.selectors.metrics import server_families
from servers.volumes.selectors.metrics import volume_families

_PLAIN = "text/plain; charset=utf-8"
_cache: TtlCache[str] = TtlCache()


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """200 with the page; 401 or 403 for who may not read it; 503 while the database does not answer."""
    denial = metrics_denial(request)
    if denial is not None:
        refused = HttpResponse(f"{denial.reason}\n", _PLAIN, denial.status)
        if denial.status == 401:
            refused["WWW-Authenticate"] = 'Bearer realm="metrics"'
        return _quiet(refused)
    try:
        text = _cache.get(metrics_text, fresh_s=metrics_options().metrics_cache_s)
    except DatabaseFailure as error:
        return _quiet(HttpResponse(f"The database does not answer: {type(error).__name__}\n", _PLAIN, 503))
    return HttpResponse(text, CONTENT_TYPE)


def metrics_text() -> str:
    """The page as it is now. Eighteen queries."""
    window_s = metrics_options().metrics_window_s
    window = gauge(
        "kilonova_window_seconds",
        "The window: what is said to have ended or been made within it is of so many seconds back.",
        [Sample(window_s)],
    )
    return exposition(
        [
            window,
            *work_families(window_s=window_s),
            *scheduling_families(window_s=window_s),
            *server_families(window_s=window_s),
            *volume_families(),
        ]
    )


def _quiet(response: HttpResponse) -> HttpResponse:
    """Not logged as a failed request: it is an answer."""
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response
