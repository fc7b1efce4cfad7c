"""The admin's site: what the models of every app are registered with, whatever stands above them."""

from typing import Any, NamedTuple

from django.contrib import admin
from django.db.models import Model

from controlplane.infra.admin.confirmation import delete_selected


class Reference(NamedTuple):
    """What an id without a foreign key means: a model by its label, found by `key`, shown by `name`."""

    model: str
    name: str = "name"
    key: str = "pk"


class ControlPlaneSite(admin.AdminSite):
    """What lists and forms ask their site for. The site of the panel, above all apps, knows the answers."""

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        # Django's own deletion of chosen rows asks too, but one click answers it for however many rows.
        self.disable_action("delete_selected")
        self.add_action(delete_selected, "delete_selected")

    def reference(self, model: type[Model], field: str) -> Reference | None:
        """What a column of ids means; None for one that only this model knows."""
        return None

    def panel_path(self, row: Model) -> str:
        """The row's page in the panel; empty where it has none."""
        return ""

    def has_panel_page(self, model: type[Model]) -> bool:
        """Whether one such row has a page of its own in the panel."""
        return False

    def panel_list_path(self, model: type[Model]) -> str:
        """The list of such rows in the panel; empty where there is none."""
        return ""


def site_of(model_admin: Any) -> ControlPlaneSite:
    """The site of an admin."""
    site: ControlPlaneSite = model_admin.admin_site
    return site
