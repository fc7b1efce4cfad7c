"""The OpenAPI document: made once in a process, for it is the same for everybody and anybody may ask for it."""

from typing import Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request


class CachedSchema(SpectacularAPIView):
    """As drf-spectacular makes it, cached as bytes for each of its forms (YAML and JSON)."""

    made: ClassVar[dict[str, tuple[bytes, str]]] = {}

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        """The document. What depends on the request alone (`version`, `lang`) has no meaning here and is ignored."""
        renderer: Any = request.accepted_renderer
        cached = self.made.get(renderer.media_type)
        if cached is None:
            response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]  # theirs
            text = renderer.render(response.data, renderer.media_type, {"view": self, "request": request})
            cached = self.made[renderer.media_type] = (text, response["Content-Disposition"])
        text, disposition = cached
        return HttpResponse(text, f"{renderer.media_type}; charset=utf-8", headers={"Content-Disposition": disposition})

    def _get_version_parameter(self, request: Request) -> None:
        """There is one version."""
