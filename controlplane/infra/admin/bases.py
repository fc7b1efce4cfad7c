"""The bases of every app's admin: rows that are read only, and writing through services."""

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.forms import BaseInlineFormSet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from controlplane.infra.admin.large_tables import LargeTableAdmin
from controlplane.infra.admin.names import NamingFormSet, id_fields, name_column
from controlplane.infra.admin.site import site_of
from controlplane.infra.reader_texts import refusal_reasons, refusal_text
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.texts import gettext_noop

# The request's attribute that holds what the service said of its form.
REFUSAL = "service_refusal"


def run_on_each(
    model_admin: "admin.ModelAdmin[Any]",
    request: HttpRequest,
    rows: Iterable[Any],
    service: Callable[[Any], object],
    *,
    said: str = gettext_noop("%(count)s done."),
) -> None:
    """Call a service for each chosen row; a refusal is shown and does not keep the others from being done.

    Ends with how many went well: "2 done", or what else is `said`, such as "2 accepted" of what only begins now: a text
    that is marked with `gettext_noop`.
    """
    done = 0
    for row in rows:
        try:
            service(row)
        except KilonovaError as error:
            model_admin.message_user(request, f"{row}: {refusal_text(error)}", messages.ERROR)
        else:
            done += 1
    model_admin.message_user(request, gettext(said) % {"count": done}, messages.SUCCESS if done else messages.WARNING)


class ReadOnlyAdmin(LargeTableAdmin):
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


class LabelledFormSet(BaseInlineFormSet):  # type: ignore[type-arg]  # not generic at run time
    """Forms in a table, whose fields are labelled by the head of their column. Each says it itself, too, for whoever
    hears the page read.
    """

    def add_fields(self, form: Any, index: Any) -> None:
        """Also with the label of each."""
        super().add_fields(form, index)
        for field in form.fields.values():
            field.widget.attrs.setdefault("aria-label", field.label or "")


class ReadOnlyInline(admin.TabularInline):  # type: ignore[type-arg]  # not generic at run time
    """Rows below another one, read only."""

    extra = 0
    can_delete = False
    formset = NamingFormSet

    def get_formset(self, request: HttpRequest, obj: Any | None = None, **options: Any) -> Any:
        """With what the ids of its rows mean."""
        formset: Any = super().get_formset(request, obj, **options)
        formset.references = id_fields(site_of(self), self.model)
        return formset

    def get_fields(self, request: HttpRequest, obj: Any | None = None) -> Any:
        """Ids are shown by name where the fields are listed."""
        return self._by_name(self.fields) if self.fields else super().get_fields(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Any | None = None) -> Any:
        """All of what is listed: a form for rows that nobody edits would know neither names nor times."""
        return self._by_name(self.fields) if self.fields else super().get_readonly_fields(request, obj)

    def _by_name(self, fields: Any) -> list[Any]:
        known = id_fields(site_of(self), self.model)
        return [name_column(one) if isinstance(one, str) and one in known else one for one in fields]

    def has_add_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return False


class RefusalsAtFields(LargeTableAdmin):
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
    reasons = refusal_reasons(refusal)

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
            self.message_user(request, refusal_text(error), messages.ERROR)
            return self.response_post_save_change(request, self.get_object(request, object_id))
