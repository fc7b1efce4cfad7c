"""The identity app."""

from django.apps import AppConfig


class IdentityConfig(AppConfig):
    """Users, projects, roles and tokens; every other app asks it who is calling."""

    name = "controlplane.identity"
    label = "identity"
    verbose_name = "Users and projects"
