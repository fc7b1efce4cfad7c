"""The identity app."""

from django.apps import AppConfig
from django.core import checks


class IdentityConfig(AppConfig):
    """Users, projects, roles and tokens; every other app asks it who is calling."""

    name = "controlplane.identity"
    label = "identity"
    verbose_name = "Users and projects"

    def ready(self) -> None:
        """Register our ways to log in with the OpenAPI schema, and the check of the proxies."""
        import controlplane.identity.api.openapi  # noqa: F401, PLC0415
        from controlplane.identity.checks import check_proxies_for_deploy  # noqa: PLC0415

        checks.register(check_proxies_for_deploy, "identity", deploy=True)
