"""Images: their records, uploads and imports, members, and what is being done to get their bytes."""

from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import QuerySet
from django.forms import CharField, FileField, ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from controlplane.infra.admin.bases import ReadOnlyAdmin, ReadOnlyInline, ThroughServicesAdmin, run_on_each
from controlplane.infra.admin.confirmation import destructive
from controlplane.infra.admin.filters import named
from controlplane.infra.admin.pairs import KeyedTextField
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.texts import gettext_noop
from servers.admin.bulk_jobs import bulk_admin_action
from servers.admin.host_images import AggregateActionForm, images_cache_on_hosts
from servers.admin.known_keys import IMAGE_PROPERTIES
from servers.admin.through_services import problems_on_form
from servers.bulk.domain import BulkKind
from servers.images.domain.image_rules import image_problems
from servers.images.domain.remote_sources import source_checksum_reasons, url_reasons
from servers.images.services.image import image_create, image_deactivate, image_reactivate, image_update
from servers.images.services.image_import import image_import, source_rules
from servers.images.services.image_store import image_delete, image_upload
from servers.images.services.image_tasks import image_task_cancel
from servers.models import Image, ImageMember, ImageTag, ImageTask

FIELDS = ("name", "visibility", "min_disk_gib", "min_ram_mib", "properties", "protected", "disk_format")


class ImageForm(ModelForm[Image]):
    """The rules of the service, whose problems are shown at the fields. The bytes come with it, or by an import."""

    file = FileField(
        required=False, help_text=_("The image. What is sent here is the installation's, not a project's.")
    )
    import_url = CharField(required=False, help_text=_("Or where it is fetched from, after saving."), max_length=2000)
    import_checksum = CharField(required=False, help_text=_("sha256:... or sha512:... of that file."), max_length=140)
    properties = KeyedTextField(IMAGE_PROPERTIES, help_text=_("To remove one, empty its row."))

    class Meta:
        model = Image
        fields = list(FIELDS)

    def clean(self) -> dict[str, Any]:
        """As the service will judge it."""
        cleaned = super().clean() or self.cleaned_data
        stored = None if self.instance._state.adding else Image.objects.get(pk=self.instance.pk).properties
        known = {name: cleaned[name] for name in FIELDS if name in cleaned}
        problems = dict(image_problems(known, stored_properties=stored))
        if url := cleaned.get("import_url"):
            problems["import_url"] = url_reasons(url, source_rules())
            if cleaned.get("file"):
                problems["import_url"] = ["Send a file or name a URL, not both."]
        if checksum := cleaned.get("import_checksum"):
            problems["import_checksum"] = source_checksum_reasons(checksum)
        problems_on_form(self, problems)
        return cleaned


class ImageMemberInline(ReadOnlyInline):
    """The projects that it is shared with."""

    model = ImageMember
    fields = ["project", "status"]


class ImageTagInline(ReadOnlyInline):
    """The words that its owner put on it."""

    model = ImageTag
    fields = ["tag"]


@admin.register(Image)
class ImageAdmin(ThroughServicesAdmin):
    """Images of all projects. One that is made here belongs to the installation."""

    form = ImageForm
    list_display = ["name", "status", "visibility", "project", "disk_format", "size_bytes", "created_at"]
    list_filter = ["status", "visibility", "disk_format", "protected", named("project")]
    search_fields = ["id", "name", "checksum_sha256"]
    list_select_related = ["project"]
    inlines = [ImageMemberInline, ImageTagInline]
    actions = [
        "deactivate",
        "reactivate",
        bulk_admin_action(
            BulkKind.IMAGE, "delete", name="delete_images", description=gettext_noop("Delete the chosen images")
        ),
        "cache_on_hosts",
    ]
    action_form = AggregateActionForm

    def get_fields(self, request: HttpRequest, obj: Image | None = None) -> Any:
        """The bytes are sent once: with the record, or later while there are none."""
        sending = ["file", "import_url", "import_checksum"] if obj is None or obj.status in {"queued", "killed"} else []
        return [*FIELDS, *sending]

    def get_readonly_fields(self, request: HttpRequest, obj: Image | None = None) -> list[str]:
        """The format is that of the bytes, once there are some."""
        return [] if obj is None or obj.status in {"queued", "killed"} else ["disk_format"]

    def save_model(self, request: HttpRequest, obj: Image, form: Any, change: bool) -> None:
        fields = {name: form.cleaned_data[name] for name in FIELDS if name in form.cleaned_data}
        if change:
            image_update(caller=None, image_id=obj.pk, changes=fields)
        else:
            obj.pk = image_create(caller=None, **fields).pk
        if url := form.cleaned_data.get("import_url"):
            checksum = form.cleaned_data.get("import_checksum", "")
            image_import(caller=None, image_id=obj.pk, url=url, checksum=checksum)
        elif file := form.cleaned_data.get("file"):
            # Not in the transaction of the record, which would hold its locks while gigabytes are written.
            transaction.on_commit(partial(self._upload, request, obj, file))

    def _upload(self, request: HttpRequest, obj: Image, file: UploadedFile) -> None:
        try:
            image_upload(caller=None, image_id=obj.pk, stream=file, declared_bytes=file.size)
        except KilonovaError as error:
            self.message_user(
                request,
                gettext("%(name)s was saved without its bytes: %(why)s") % {"name": obj.name, "why": error.message},
                messages.ERROR,
            )

    def service_delete(self, obj: Image) -> None:
        """Through the service, with its file; a protected one is refused."""
        image_delete(caller=None, image_id=obj.pk)

    @admin.action(description=gettext_noop("Deactivate"), permissions=["operate"])
    def deactivate(self, request: HttpRequest, queryset: QuerySet[Image]) -> None:
        """No new instances of them."""
        run_on_each(self, request, queryset, lambda one: image_deactivate(image_id=one.pk))

    @admin.action(description=gettext_noop("Reactivate"), permissions=["operate"])
    def reactivate(self, request: HttpRequest, queryset: QuerySet[Image]) -> None:
        run_on_each(self, request, queryset, lambda one: image_reactivate(image_id=one.pk))

    @admin.action(description=gettext_noop("Have the hosts of the aggregate fetch them"), permissions=["operate"])
    def cache_on_hosts(self, request: HttpRequest, queryset: QuerySet[Image]) -> None:
        """Into the image caches of the hosts of the aggregate that is chosen beside the action."""
        images_cache_on_hosts(self, request, queryset)


@admin.register(ImageMember)
class ImageMemberAdmin(ReadOnlyAdmin):
    """Which images are shared with whom. Owners share them, by API and page."""

    list_display = ["image", "project", "status", "created_at"]
    list_filter = ["status"]
    search_fields = ["image__name", "image__id", "project__name"]
    list_select_related = ["image", "project"]


@admin.register(ImageTask)
class ImageTaskAdmin(ReadOnlyAdmin):
    """Imports and conversions: the last one of each image."""

    list_display = ["image", "kind", "state", "done_bytes", "total_bytes", "asked_by", "created_at", "finished_at"]
    list_filter = ["kind", "state"]
    search_fields = ["image__name", "image__id", "source_url", "asked_by"]
    list_select_related = ["image"]
    actions = ["cancel"]

    @destructive(
        description=gettext_noop("Cancel the chosen imports and conversions"),
        permissions=["operate"],
        question=gettext_noop(
            "What these fetched or converted so far is thrown away; their images stay without bytes."
        ),
    )
    def cancel(self, request: HttpRequest, queryset: QuerySet[ImageTask]) -> None:
        """End those that are under way."""
        run_on_each(self, request, queryset, lambda one: image_task_cancel(caller=None, image_id=one.image_id))
