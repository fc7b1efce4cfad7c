"""What every app's admin stands on: rows only to look at, writing through services."""

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from controlplane.kernel.errors import KilonovaError


def run_on_each(
    model_admin: "admin.ModelAdmin[Any]",
    request: HttpRequest,
    rows: Iterable[Any],
    service: Callable[[Any], object],
    *,
    word: str = "done",
) -> None:
    """Call a service for each chosen row; a refusal is shown and does not keep the others from being done.

    Ends with how many went well: '2 done', or another `word` for what only begins now ('2 accepted').
    """
    done = 0
    for row in rows:
        try:
            service(row)
        except KilonovaError as error:
            model_admin.message_user(request, f"{row}: {error.message}", messages.ERROR)
        else:
            done += 1
    model_admin.message_user(request, f"{done} {word}.", messages.SUCCESS if done else messages.WARNING)


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Rows that only services write. Actions that call services ask for the permission `operate`."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Never by hand."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Never by hand."""
        return False

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Who may use the actions: whoever may change such rows by Django's permissions."""
        return bool(request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}"))


class ReadOnlyInline(admin.TabularInline):  # type: ignore[type-arg]  # not generic at run time
    """Rows below another one, to look at."""

    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Never by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Never by hand."""
        return False


class ThroughServicesAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Rows that are edited, each save and deletion being a service; refusals are shown instead of failing."""

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Who may use the actions, also where no row is edited by hand: see ReadOnlyAdmin."""
        return bool(request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}"))

    def service_delete(self, obj: Any) -> None:
        """Delete one row. May raise KilonovaError."""
        raise NotImplementedError

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        """One row."""
        self.service_delete(obj)

    def delete_queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> None:
        """The chosen rows; one that is refused does not stop the others."""
        run_on_each(self, request, queryset, self.service_delete)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The form; what only the service can refuse (a limit, a race for a name) becomes a message."""
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except KilonovaError as error:
            self.message_user(request, error.message, messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The confirmation page; a refusal becomes a message on the row's own page."""
        try:
            return super().delete_view(request, object_id, extra_context)
        except KilonovaError as error:
            self.message_user(request, error.message, messages.ERROR)
            return self.response_post_save_change(request, self.get_object(request, object_id))
