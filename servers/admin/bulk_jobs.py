"""Bulk jobs in the Django admin: read only, with what became of each instance."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.translation import gettext

from controlplane.identity.api.callers import caller_of
from controlplane.infra.admin.bases import ReadOnlyAdmin, ReadOnlyInline
from controlplane.infra.admin.confirmation import destructive
from controlplane.infra.admin.filters import typed
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.texts import gettext_noop
from servers.bulk.domain import BULK_RULES, BulkKind
from servers.bulk.services.jobs import bulk_job_cancel, bulk_job_create
from servers.models import BulkJob, BulkJobItem


class BulkJobItemInline(ReadOnlyInline):
    """What became of each."""

    model = BulkJobItem
    fields = ["position", "name", "subject", "state", "reason", "tries"]


@admin.register(BulkJobItem)
class BulkJobItemAdmin(ReadOnlyAdmin):
    """Of all jobs, for a search by thing; the job shows its own."""

    list_display = ["name", "subject", "state", "reason", "tries", "finished_at", "job"]
    list_filter = ["state"]
    list_select_related = ["job"]
    search_fields = ["name", "subject", "job__id"]


@admin.register(BulkJob)
class BulkJobAdmin(ReadOnlyAdmin):
    """Newest first."""

    list_display = ["title", "item_count", "user_name", "created_at", "cancelled_at", "finished_at", "request_id"]
    list_filter = ["created_at", "kind", typed("action"), typed("user_name", "user")]
    search_fields = ["id", "user_name", "request_id"]
    inlines = [BulkJobItemInline]
    actions = ["cancel"]

    @destructive(
        description=gettext_noop("Cancel what has not begun of the chosen jobs"),
        permissions=["operate"],
        question=gettext_noop("What waits of these jobs is not done any more; what runs goes on."),
    )
    def cancel(self, request: HttpRequest, queryset: QuerySet[BulkJob]) -> None:
        for job in queryset:
            try:
                bulk_job_cancel(caller=caller_of(request), job_id=job.pk)
            except KilonovaError as error:
                self.message_user(request, f"{job}: {refusal_text(error)}", messages.ERROR)
            else:
                self.message_user(request, gettext("%(job)s: cancelled.") % {"job": job}, messages.SUCCESS)


def begin_job(
    model_admin: Any, request: HttpRequest, action: str, ids: Sequence[Any], kind: BulkKind = BulkKind.INSTANCE
) -> None:
    """One job for the chosen rows, which their confirmation counted; says where it is followed."""
    try:
        job = bulk_job_create(caller=caller_of(request), action=action, kind=kind, ids=ids, confirmed=len(ids))
    except KilonovaError as error:
        model_admin.message_user(request, refusal_text(error), messages.ERROR)
        return
    text = format_html(
        gettext('{count} accepted: <a href="{path}">what becomes of each</a>.'),
        count=len(ids),
        path=f"/bulk-jobs/{job.pk}/",
    )
    model_admin.message_user(request, text, messages.SUCCESS)


def bulk_admin_action(
    kind: BulkKind, action: str, *, name: str, description: str, order: str = "pk"
) -> Callable[..., TemplateResponse | None]:
    """An action on chosen rows of the admin that begins a bulk job; what destroys or interrupts asks first."""
    question = BULK_RULES[kind][action].question

    def run(model_admin: Any, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        begin_job(model_admin, request, action, list(queryset.order_by(order, "pk").values_list("pk", flat=True)), kind)

    run.__name__ = name
    if question:
        return destructive(description=description, permissions=["operate"], question=question, word=action)(run)
    return admin.action(description=description, permissions=["operate"])(run)
