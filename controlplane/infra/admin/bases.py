"""The bases of every app's admin: rows that are read only, and writing through services."""

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse

from controlplane.kernel.errors import InvalidFields, KilonovaError

# The request's attribute that holds what the service said of its form.
REFUSAL = "service_refusal"


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
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return False

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Who may use the actions: whoever may change such rows by Django's permissions."""
        return bool(request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}"))


class ReadOnlyInline(admin.TabularInline):  # type: ignore[type-arg]  # not generic at run time
    """Rows below another one, read only."""

    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return False


class RefusalsAtFields(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """What only the service can refuse (a limit, a race for a name) is shown in the form, with all that was typed."""

    def get_form(self, request: HttpRequest, obj: Any | None = None, change: bool = False, **kwargs: Any) -> Any:
        """The form; after a refusal one that has it among its errors."""
        form = super().get_form(request, obj, change, **kwargs)
        refusal: KilonovaError | None = getattr(request, REFUSAL, None)
        return form if refusal is None else _with_refusal(form, refusal)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The form. The transaction around a refused save is undone, and the same post is shown with the refusal."""
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except KilonovaError as error:
            setattr(request, REFUSAL, error)
            answer = self.refused(request, object_id, error)
            return answer or super().changeform_view(request, object_id, form_url, extra_context)

    def refused(self, request: HttpRequest, object_id: str | None, error: KilonovaError) -> HttpResponse | None:
        """Another answer to a refusal than the form; None for the form."""
        return None


def _with_refusal(form: Any, refusal: KilonovaError) -> Any:
    """The form class, never valid: the refusal is shown at its fields, or on top where the form has no such field."""
    reasons = refusal.errors if isinstance(refusal, InvalidFields) else {refusal.field or "": [refusal.message]}

    class RefusedForm(form):  # type: ignore[misc]  # made at run time
        def full_clean(self) -> None:
            super().full_clean()
            if not self.is_bound:
                return
            for name, sentences in reasons.items():
                field = name.partition(".")[0]
                for sentence in sentences:
                    self.add_error(field if field in self.fields else None, sentence)

    return RefusedForm


class ThroughServicesAdmin(RefusalsAtFields):
    """Rows that are edited, each save and deletion being a service; refusals are shown instead of failing."""

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Who may use the actions, also where no row is edited by hand: see ReadOnlyAdmin."""
        return bool(request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}"))

    def service_delete(self, obj: Any) -> None:
        """Delete one row. May raise KilonovaError."""
        raise NotImplementedError

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        self.service_delete(obj)

    def delete_queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> None:
        """The chosen rows; one that is refused does not stop the others."""
        run_on_each(self, request, queryset, self.service_delete)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The confirmation page; a refusal becomes a message on the row's own page."""
        try:
            return super().delete_view(request, object_id, extra_context)
        except KilonovaError as error:
            self.message_user(request, error.message, messages.ERROR)
            return self.response_post_save_change(request, self.get_object(request, object_id))
