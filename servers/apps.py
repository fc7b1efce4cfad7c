"""The servers app."""

from django.apps import AppConfig


class ServersConfig(AppConfig):
    """Flavors, images, key pairs, server groups, networks and instances."""

    name = "servers"
    label = "servers"
    verbose_name = "Servers"
