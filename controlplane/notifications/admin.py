"""Notifications: what happened, who gets it, and what came of every attempt to send it."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from controlplane.infra.admin.bases import ReadOnlyAdmin, ReadOnlyInline, ThroughServicesAdmin, run_on_each
from controlplane.infra.admin.filters import named, typed
from controlplane.kernel.texts import gettext_noop
from controlplane.notifications.fan_out import delivery_resend, event_resend
from controlplane.notifications.models import Delivery, DeliveryAttempt, Notification, Webhook
from controlplane.notifications.pattern_field import PatternsField
from controlplane.notifications.webhooks import webhook_create, webhook_delete, webhook_update

FIELDS = ["name", "url", "events", "enabled"]


class WebhookForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """The secret is written and never shown."""

    events = PatternsField(help_text=_("* stands for any text. Only an event that one of them is of is sent."))
    secret = forms.CharField(
        required=False,
        widget=forms.PasswordInput,
        help_text=_("Signs what is sent; 16 to 200 characters. Left empty it stays what it was."),
    )

    class Meta:
        model = Webhook
        fields = FIELDS


@admin.register(Webhook)
class WebhookAdmin(ThroughServicesAdmin):
    """Webhooks: who gets which events."""

    form = WebhookForm
    list_display = ["name", "url", "patterns", "enabled", "retry_at", "created_at"]
    list_filter = ["enabled"]
    search_fields = ["name", "url", "id"]

    def get_fields(self, request: HttpRequest, obj: Webhook | None = None) -> list[Any]:
        """The secret only where it can be written."""
        may = self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        return [*FIELDS, *(["secret"] if may else [])]

    def get_readonly_fields(self, request: HttpRequest, obj: Webhook | None = None) -> list[str]:
        """The name stays: it is what logs call it."""
        return [] if obj is None else ["name"]

    @admin.display(description=_("events"))
    def patterns(self, webhook: Webhook) -> str:
        return ", ".join(str(each) for each in webhook.events)

    def save_model(self, request: HttpRequest, obj: Webhook, form: WebhookForm, change: bool) -> None:
        """Through the services; what they refuse is shown on the form's page."""
        given = {name: form.cleaned_data[name] for name in ("url", "events", "enabled", "secret")}
        if change:
            webhook_update(webhook_id=obj.pk, **given)
        else:
            obj.pk = webhook_create(name=form.cleaned_data["name"], **given).pk

    def get_deleted_objects(
        self, objs: Sequence[Any] | QuerySet[Any], request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Its deliveries go with it, though nobody may delete one of them alone."""
        shown, counts, _, protected = super().get_deleted_objects(objs, request)
        return shown, counts, set(), protected

    def service_delete(self, obj: Webhook) -> None:
        webhook_delete(webhook_id=obj.pk)


class DeliveriesInline(ReadOnlyInline):
    """Where an event went."""

    model = Delivery
    fields = ("webhook", "state", "attempt", "next_at", "finished_at", "error")
    readonly_fields = ("webhook", "state", "attempt", "next_at", "finished_at", "error")
    show_change_link = True


class AttemptsInline(ReadOnlyInline):
    """What each attempt brought."""

    model = DeliveryAttempt
    fields = ("number", "created_at", "duration_ms", "status", "error", "answer")
    readonly_fields = ("number", "created_at", "duration_ms", "status", "error", "answer")


@admin.register(Notification)
class NotificationAdmin(ReadOnlyAdmin):
    """The outbox, to read and to send again from: rows are written by services alone."""

    list_display = ["happened_at", "event_type", "priority", "publisher_id", "request_id", "project_id"]
    list_filter = ["priority", typed("event_type"), named("project_id")]
    search_fields = ["id", "request_id", "project_id", "event_type"]
    inlines = [DeliveriesInline]
    actions = ["send_again"]

    @admin.action(description=gettext_noop("Send again to every webhook that wants it"), permissions=["operate"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[Notification]) -> None:
        run_on_each(
            self,
            request,
            queryset,
            lambda row: event_resend(notification_id=row.pk),
            said=gettext_noop("%(count)s accepted."),
        )


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    """What is on its way, arrived, or was given up."""

    list_display = ["event", "webhook", "state", "attempt", "next_at", "finished_at", "error"]
    list_filter = ["state", named("webhook")]
    list_select_related = ["notification", "webhook"]
    search_fields = ["id", "notification__id", "notification__request_id", "notification__event_type"]
    inlines = [AttemptsInline]
    actions = ["send_again"]

    @admin.display(description=_("event"), ordering="notification__event_type")
    def event(self, row: Delivery) -> str:
        """What happened."""
        return row.notification.event_type

    @admin.action(description=gettext_noop("Send again"), permissions=["operate"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        """Each delivery, whatever became of it."""
        run_on_each(
            self,
            request,
            queryset,
            lambda row: delivery_resend(delivery_id=row.pk),
            said=gettext_noop("%(count)s accepted."),
        )
