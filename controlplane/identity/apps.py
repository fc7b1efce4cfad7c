"""The identity app."""

from django.apps import AppConfig


class IdentityConfig(AppConfig):
    """Users, projects, roles and tokens; every other app asks it who is calling."""

    name = "controlplane.identity"
    label = "identity"
    verbose_name = "Users and projects"

    def ready(self) -> None:
        """Tell the OpenAPI schema of our ways to log in."""
        import controlplane.identity.api.openapi  # noqa: F401, PLC0415
