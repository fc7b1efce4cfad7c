"""What is not there under /api/ is answered in the API's own shape, not as a page."""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from controlplane.infra.api.errors import body


@csrf_exempt  # there is nothing that a forged request could do
def no_such_route(request: HttpRequest) -> JsonResponse:
    """404, to everybody: which routes there are is no secret."""
    return JsonResponse(
        body("not_found", f"There is no route {request.path}; /api/docs/ lists those there are."), status=404
    )
