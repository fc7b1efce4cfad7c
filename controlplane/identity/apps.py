"""The identity app."""

from django.apps import AppConfig
from django.core import checks


class IdentityConfig(AppConfig):
    """Users, projects, roles and tokens; every other app asks it who is calling."""

    name = "controlplane.identity"
    label = "identity"
    verbose_name = "Users and projects"

    def ready(self) -> None:
        """Load the table of access rules, and register what follows changes, the periodic tasks, the checks and the
        column of secrets.
        """
        from controlplane.identity.access_rules_file import access_rules_load  # noqa: PLC0415
        from controlplane.identity.checks import check_plain_lines_for_deploy, check_proxies_for_deploy  # noqa: PLC0415
        from controlplane.identity.jobs import periodic_tasks_register  # noqa: PLC0415
        from controlplane.identity.models import SecondFactor  # noqa: PLC0415
        from controlplane.identity.selectors.second_factors import PURPOSE  # noqa: PLC0415
        from controlplane.identity.services.application_credentials import (  # noqa: PLC0415
            application_credentials_follow_roles,
        )
        from controlplane.identity.session_entries import session_entries_follow  # noqa: PLC0415
        from controlplane.infra.secret_columns import SecretColumn, secret_column_register  # noqa: PLC0415

        access_rules_load()
        session_entries_follow()
        application_credentials_follow_roles()
        periodic_tasks_register()
        secret_column_register(
            SecretColumn("second factor of user", SecondFactor, "sealed_secret", PURPOSE, named_by="user_id")
        )
        checks.register(check_proxies_for_deploy, "identity", deploy=True)
        checks.register(check_plain_lines_for_deploy, "identity", deploy=True)
