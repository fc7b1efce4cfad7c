"""Base images of hosts, read-only: hosts report them, and services ask for them; and the action that asks."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db.models import QuerySet
from django.forms import ChoiceField
from django.http import HttpRequest
from django.utils.translation import gettext

from controlplane.identity.api.callers import caller_of
from controlplane.infra.admin.bases import ReadOnlyAdmin, run_on_each
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import gettext_noop
from scheduling.fleet.selectors.aggregates import aggregates_named
from servers.images.services.host_images import aggregate_images_cache
from servers.models import Image, ImageCacheRequest, ImageOnHost


class AggregateActionForm(ActionForm):
    """For the action that needs an aggregate."""

    aggregate = ChoiceField(label="Aggregate:", required=False)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        choices = [(str(pk), name) for pk, name in aggregates_named()]
        self.fields["aggregate"].choices = [("", "none"), *choices]  # type: ignore[attr-defined] # a ChoiceField


def images_cache_on_hosts(
    model_admin: "admin.ModelAdmin[Image]", request: HttpRequest, queryset: QuerySet[Image]
) -> None:
    """Ask the hosts of the aggregate that was chosen beside the action."""
    aggregate = parse_uuid(request.POST.get("aggregate", ""))
    if aggregate is None:
        model_admin.message_user(request, gettext("Choose the aggregate beside the action."), messages.ERROR)
        return
    asked_by = caller_of(request).username

    def ask(image: Image) -> None:
        aggregate_images_cache(aggregate_id=aggregate, image_ids=[image.pk], asked_by=asked_by)

    run_on_each(model_admin, request, queryset, ask, said=gettext_noop("%(count)s asked for."))


@admin.register(ImageOnHost)
class ImageOnHostAdmin(ReadOnlyAdmin):
    """What hosts have in their caches."""

    list_display = ["host", "checksum", "size_bytes", "guests", "last_used_at", "reported_at"]
    search_fields = ["host", "checksum"]


@admin.register(ImageCacheRequest)
class ImageCacheRequestAdmin(ReadOnlyAdmin):
    """What hosts were asked to have, and how far they are. Ask by the action of images, or on an aggregate's page."""

    list_display = ["host", "image", "state", "message", "done_bytes", "asked_by", "asked_at"]
    list_filter = ["state"]
    search_fields = ["host", "image__name"]
    list_select_related = ["image"]
