"""The app: the standard names are in the database after every migration."""

from typing import Any

from django.apps import AppConfig
from django.apps.registry import Apps
from django.db.models.signals import post_migrate


class PlacementConfig(AppConfig):
    """Providers, inventories, traits, allocations."""

    name = "placement"
    label = "placement"
    verbose_name = "Placement"

    def ready(self) -> None:
        """Connect once; `dispatch_uid` keeps a second import from doing it twice."""
        post_migrate.connect(_sync_standard_names, sender=self, dispatch_uid="placement.standard_names")


def _sync_standard_names(*, using: str, apps: Apps | None = None, **_: Any) -> None:
    # Models cannot be imported before the apps are ready, and this module is imported before that.
    from placement.services import standard_names_sync  # noqa: PLC0415

    # Migrated backwards, the tables are gone; after a flush, which also sends the signal, `apps` is not given.
    is_there = apps is None or "trait" in apps.all_models.get("placement", {})
    if is_there and using == "default":
        standard_names_sync()
