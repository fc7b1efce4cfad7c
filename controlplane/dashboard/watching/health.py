"""`/healthz` and `/readyz`: for supervisors and load balancers. No login, nothing secret."""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from controlplane.infra.ttl_cache import TtlCache
from controlplane.work.conf import work_options
from controlplane.work.readiness import Check
from servers.repair.selectors.readiness import readiness_checks, readiness_reasons

# Anybody may ask, and each answer costs a dozen queries.
_cached: TtlCache[list[Check]] = TtlCache()


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer that this process is alive; `readyz` asks more."""
    return JsonResponse({"status": "alive"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when a VM can be created, else 503 with the reasons; always with the state of each check."""
    checks = _cached.get(readiness_checks, fresh_s=work_options().ready_cache_s)
    reasons = readiness_reasons(checks)
    answer = {
        "ready": not reasons,
        "reasons": reasons,
        "checks": [{"name": check.name, "state": check.state.value, "reason": check.reason} for check in checks],
    }
    response = JsonResponse(answer, status=503 if reasons else 200)
    response._has_been_logged = True  # type: ignore[attr-defined]  # "not yet" is an answer here, not a failure
    return response
