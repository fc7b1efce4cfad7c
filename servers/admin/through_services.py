"""The admin's forms, where saving is a service."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from controlplane.kernel.errors import InvalidFields, KilonovaError
from servers.domain.fields import Problems


def problems_on_form(form: "ModelForm[Any]", problems: Problems) -> None:
    """Show reasons at the fields they are about; those of fields that the form does not have, on top."""
    for field, reasons in problems.items():
        for reason in reasons:
            form.add_error(field if field in form.fields else None, reason)


def problems_of(error: KilonovaError) -> Problems:
    """The reasons of a refusal, by field."""
    return error.errors if isinstance(error, InvalidFields) else {error.field or "__all__": [error.message]}


class ServiceAdmin(admin.ModelAdmin[Any]):
    """Deletes through a service, one by one, and shows refusals instead of failing."""

    def service_delete(self, obj: Any) -> None:
        """Delete one row. May raise KilonovaError."""
        raise NotImplementedError

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """One row."""
        self.service_delete(obj)

    def delete_queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> None:
        """The chosen rows; one that is refused does not stop the others."""
        self.each(request, queryset, self.service_delete)

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

    def each(self, request: HttpRequest, rows: Iterable[Model], do: Any) -> None:
        """Call `do` with each row; report how many went well and what was refused."""
        done = 0
        for row in rows:
            try:
                do(row)
                done += 1
            except KilonovaError as error:
                self.message_user(request, f"{row}: {error.message}", messages.ERROR)
        if done:
            self.message_user(request, f"Done: {done}.", messages.SUCCESS)
