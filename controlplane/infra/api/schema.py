"""The OpenAPI document: made once in a process, for it is the same for everybody and anybody may ask for it. Importing
this has it say of closed bodies that they are closed.
"""

import threading
from typing import Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import AllowAny
from rest_framework.request import Request

from controlplane.infra.api.filtering import KnownInput


class ClosedFieldsSchema(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # registers subclasses untyped
    """A body that refuses unknown fields has no others in the document."""

    target_class = "controlplane.infra.api.strict.ClosedFields"
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        """As without this class, and closed."""
        schema: dict[str, Any] = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        return {**schema, "additionalProperties": False}


class CachedSchema(SpectacularAPIView):
    """As drf-spectacular makes it, cached as bytes for each of its forms (YAML and JSON)."""

    permission_classes = (AllowAny, KnownInput)
    made: ClassVar[dict[str, tuple[bytes, str]]] = {}
    one_at_a_time = threading.Lock()

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        """The document. Of what depends on the request there is its `format` alone: no `version` and no `lang`."""
        renderer: Any = request.accepted_renderer
        with self.one_at_a_time:  # drf-spectacular loads its extensions at first use, and finds them half loaded
            if renderer.media_type not in self.made:
                response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]  # theirs
                text = renderer.render(response.data, renderer.media_type, {"view": self, "request": request})
                self.made[renderer.media_type] = (text, response["Content-Disposition"])
        text, disposition = self.made[renderer.media_type]
        return HttpResponse(text, f"{renderer.media_type}; charset=utf-8", headers={"Content-Disposition": disposition})

    def _get_version_parameter(self, request: Request) -> None:
        """There is one version."""
