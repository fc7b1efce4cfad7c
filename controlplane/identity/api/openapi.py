"""How the OpenAPI schema describes our two ways of logging in. Importing it registers them."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # registers subclasses untyped
    """The API's description names the header `X-Auth-Token` as one way to authenticate."""

    target_class = "controlplane.identity.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """A key in a header."""
        return {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}


class PageSessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # as above
    """The session of the pages."""

    target_class = "controlplane.identity.api.authentication.PageSessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}
