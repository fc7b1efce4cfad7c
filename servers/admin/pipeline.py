"""The rows that a request goes through, read-only."""

import json

from django.contrib import admin
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from controlplane.infra.admin.bases import ReadOnlyAdmin, ReadOnlyInline
from controlplane.infra.admin.filters import named, typed
from servers.models import (
    BuildRequest,
    ImageStore,
    InstanceAction,
    InstanceActionEvent,
    InstanceMapping,
    ProjectQuotaLock,
    RequestSpec,
)


class EventInline(ReadOnlyInline):
    model = InstanceActionEvent
    fields = ["name", "attempt", "host", "started_at", "finished_at", "result", "details"]


@admin.register(InstanceAction)
class InstanceActionAdmin(ReadOnlyAdmin):
    """Verbs and their steps."""

    list_display = ["action", "instance_uuid", "result", "user_id", "request_id", "started_at", "finished_at"]
    list_filter = ["result", typed("action"), named("project_id"), named("user_id")]
    search_fields = ["instance_uuid", "request_id", "work_id", "project_id"]
    inlines = [EventInline]


@admin.register(RequestSpec)
class RequestSpecAdmin(ReadOnlyAdmin):
    """What was asked for."""

    list_display = ["instance_uuid", "project_id", "user_id", "created_at"]
    search_fields = ["instance_uuid", "reservation_id", "project_id"]


@admin.register(BuildRequest)
class BuildRequestAdmin(ReadOnlyAdmin):
    """Instances that have no row in a cell yet."""

    list_display = ["instance_uuid", "project", "batch_index", "request_id", "created_at"]
    list_filter = [named("project")]
    search_fields = ["instance_uuid", "reservation_id", "request_id"]
    list_select_related = ["project"]
    exclude = ["instance_body"]
    readonly_fields = ["instance"]

    @admin.display(description=_("Instance"))
    def instance(self, request: BuildRequest) -> str:
        """As the API will show it, without the user data: that is its owner's."""
        shown = {name: value for name, value in request.instance_body.items() if name != "user_data"}
        return format_html("<pre>{}</pre>", json.dumps(shown, indent=2, sort_keys=True))


@admin.register(InstanceMapping)
class InstanceMappingAdmin(ReadOnlyAdmin):
    """Which instance is in which cell."""

    list_display = ["instance_uuid", "cell_id", "project", "created_at"]
    list_filter = [named("cell_id"), named("project")]
    search_fields = ["instance_uuid", "cell_id"]
    list_select_related = ["project"]


@admin.register(ProjectQuotaLock)
class ProjectQuotaLockAdmin(ReadOnlyAdmin):
    """How often each project's quota was taken."""

    list_display = ["project", "taken"]
    list_select_related = ["project"]


@admin.register(ImageStore)
class ImageStoreAdmin(ReadOnlyAdmin):
    """The id that the marker of the image store must carry."""

    list_display = ["marker"]
