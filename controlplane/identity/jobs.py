"""Declares the periodic work of identity."""

from controlplane.identity.conf import ldap_options
from controlplane.identity.services.directory_sync import directory_sync
from controlplane.work.jobs import periodic_task_register


def periodic_tasks_register() -> None:
    """Called once, when the apps are ready."""
    options = ldap_options()
    if options.ldap_url and options.ldap_sync_interval_s:
        periodic_task_register("people of the directory", every_s=options.ldap_sync_interval_s, run=directory_sync)
