"""The servers app."""

from django.apps import AppConfig


class ServersConfig(AppConfig):
    """Flavors, images, key pairs, server groups, networks and instances."""

    name = "servers"
    label = "servers"
    verbose_name = "Servers"

    def ready(self) -> None:
        """Declare this app's kinds of work and its checks. Imported here: services need the models to be loaded."""
        from controlplane.identity.services.project_removal import (  # noqa: PLC0415
            ProjectContents,
            project_contents_register,
        )
        from controlplane.notifications.event_types import event_types_register  # noqa: PLC0415
        from scheduling.fleet.cache.host_details import instance_source_register  # noqa: PLC0415
        from scheduling.fleet.selectors.neighbours import neighbour_source_register  # noqa: PLC0415
        from scheduling.fleet.selectors.present_facts import facts_source_register  # noqa: PLC0415
        from scheduling.fleet.services.providers import aggregate_source_register  # noqa: PLC0415
        from servers.bulk.services.notifications import END, ERROR  # noqa: PLC0415
        from servers.checks import register_all  # noqa: PLC0415
        from servers.instances.selectors.host_instances import LivingInstances  # noqa: PLC0415
        from servers.instances.selectors.neighbours import instance_neighbours  # noqa: PLC0415
        from servers.instances.selectors.preview_facts import instance_preview_facts  # noqa: PLC0415
        from servers.instances.selectors.scheduling_facts import loads_watch  # noqa: PLC0415
        from servers.instances.services.notifications import instance_event_types  # noqa: PLC0415
        from servers.instances.services.project_contents import (  # noqa: PLC0415
            COUNTED,
            project_contents_count,
            project_purge,
        )
        from servers.jobs import kinds_register  # noqa: PLC0415
        from servers.secret_columns import secret_columns_register  # noqa: PLC0415
        from servers.volumes.selectors.pool_hosts import shared_pools_reached  # noqa: PLC0415
        from servers.volumes.services.notifications import VOLUME_EVENTS  # noqa: PLC0415

        project_contents_register("servers", ProjectContents(project_purge, project_contents_count, COUNTED))
        register_all()
        kinds_register()
        secret_columns_register()
        loads_watch()
        facts_source_register(instance_preview_facts)
        neighbour_source_register(instance_neighbours)
        instance_source_register(LivingInstances)
        event_types_register({*instance_event_types(), *VOLUME_EVENTS, END, ERROR})
        aggregate_source_register("volume pools", shared_pools_reached)
