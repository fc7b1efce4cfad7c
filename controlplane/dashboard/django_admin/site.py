"""The site of the admin: models by subject, plumbing apart, names for ids, and ways to the panel."""

import functools
import inspect
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, get_script_prefix, path, reverse
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from controlplane.dashboard.django_admin.labels import labels_improve
from controlplane.dashboard.django_admin.model_names import names_translate
from controlplane.dashboard.django_admin.panel_pages import (
    OF_ONE_TABLE,
    REFERENCES,
    has_page,
    panel_list_of,
    panel_path_of,
)
from controlplane.dashboard.django_admin.sections import LIST_NAMES, PLUMBING, SECTIONS, AdminSection
from controlplane.infra.admin.site import ControlPlaneSite, Reference


class PanelAdminSite(ControlPlaneSite):
    """The admin of this installation."""

    site_header = "Kilonova"
    site_title = _("Kilonova admin")
    index_title = _("Everything that is stored")

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """As Django does, with names that read well."""
        super().register(model_or_iterable, admin_class, **options)
        models: list[Any] = [model_or_iterable] if isinstance(model_or_iterable, type) else list(model_or_iterable)
        for model in models:
            labels_improve(model)
            names_translate(model._meta, LIST_NAMES.get(model._meta.label, ""))

    def reference(self, model: type[Model], field: str) -> Reference | None:
        """What a column of ids means."""
        return OF_ONE_TABLE.get((model._meta.label, field)) or REFERENCES.get(field)

    def panel_path(self, row: Model) -> str:
        """The row's page in the panel; empty where it has none."""
        return panel_path_of(row)

    def has_panel_page(self, model: type[Model]) -> bool:
        """Whether one such row has a page of its own in the panel."""
        return has_page(model)

    def panel_list_path(self, model: type[Model]) -> str:
        """The list of such rows in the panel; empty where there is none."""
        return panel_list_of(model)

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """The page of the plumbing beside Django's own."""
        plumbing = path("plumbing/", self.admin_view(self.plumbing), name="plumbing")
        return [plumbing, *super().get_urls()]

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """The sections with what the person may see, on every page of the admin; an app's own page is Django's."""
        if app_label is not None:
            apps = super().get_app_list(request, app_label)
            return [{**app, "models": [one for one in app["models"] if not _is_plumbing(one)]} for app in apps]
        known = self._models_open_to(request)
        shown = [_section_shown(section, known) for section in SECTIONS]
        if any(label in known for label in PLUMBING.models):
            shown.append(_plumbing_link())
        return [section for section in shown if section["models"]]

    def plumbing(self, request: HttpRequest) -> HttpResponseBase:
        """What services keep for themselves, with what each table is for."""
        known = self._models_open_to(request)
        section = _section_shown(PLUMBING, known)
        if not section["models"]:
            raise PermissionDenied
        for one in section["models"]:
            one["meaning"] = _meaning(self._registry[one["model"]])
        context = {**self.each_context(request), "title": gettext(PLUMBING.title), "tables": section["models"]}
        request.current_app = self.name
        return TemplateResponse(request, "admin/plumbing.html", context)

    def _models_open_to(self, request: HttpRequest) -> dict[str, Any]:
        """As Django does, which puts the two addresses of each table together anew for every page."""
        found = {}
        for model, model_admin in self._registry.items():
            if not model_admin.has_module_permission(request):
                continue
            perms = model_admin.get_model_perms(request)
            if any(perms.values()):
                found[model._meta.label] = self._entry(model, perms)
        return found

    def _entry(self, model: type[Model], perms: dict[str, bool]) -> dict[str, Any]:
        page = f"{self.name}:{model._meta.app_label}_{model._meta.model_name}"
        is_seen = perms["view"] or perms["change"]
        return {
            "model": model,
            "name": capfirst(model._meta.verbose_name_plural),
            "object_name": model._meta.object_name,
            "perms": perms,
            "admin_url": _address(f"{page}_changelist", get_script_prefix()) if is_seen else None,
            "add_url": _address(f"{page}_add", get_script_prefix()) if perms["add"] else None,
            "view_only": not perms["change"],
        }


@functools.cache
def _address(name: str, prefix: str) -> str:
    """Of a page, below this prefix."""
    return reverse(name)


def _is_plumbing(entry: dict[str, Any]) -> bool:
    return entry["model"]._meta.label in PLUMBING.models


def _section_shown(section: AdminSection, known: dict[str, Any]) -> dict[str, Any]:
    models = [known[label] for label in section.models if label in known]
    slug = section.title.lower()
    return {
        "name": gettext(section.title),
        "app_label": slug,
        "app_url": "",
        "has_module_perms": True,
        "models": models,
    }


def _plumbing_link() -> dict[str, Any]:
    """One entry that leads to all of it."""
    entry: dict[str, Any] = {
        "name": gettext("What services keep for themselves"),
        "object_name": "Plumbing",
        "admin_url": reverse("admin:plumbing"),
        "add_url": None,
        "view_only": True,
        "perms": {},
    }
    name = gettext(PLUMBING.title)
    return {"name": name, "app_label": "plumbing", "app_url": "", "has_module_perms": True, "models": [entry]}


def _meaning(model_admin: Any) -> str:
    """What its admin says that the table holds."""
    return inspect.cleandoc(type(model_admin).__doc__ or "").partition("\n\n")[0]
