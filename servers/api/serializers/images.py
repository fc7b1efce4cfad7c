"""Images and their members in the API's JSON."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from servers.images.domain.remote_sources import url_without_query
from servers.instances.domain.not_provided import image_refusals
from servers.models import Image, ImageMember, ImageTask


class ImageChange(StrictInput):
    """What may change of an image."""

    name = serializers.CharField(trim_whitespace=False)
    visibility = serializers.CharField(required=False)
    disk_format = serializers.CharField(required=False)
    min_disk_gib = serializers.IntegerField(required=False)
    min_ram_mib = serializers.IntegerField(required=False)
    properties = serializers.DictField(required=False, help_text="Text to text, such as hw_disk_bus.")
    protected = serializers.BooleanField(required=False)
    expected_sha256 = serializers.CharField(
        required=False, allow_blank=True, help_text="Data with another checksum is refused."
    )


class ImageImportInput(StrictInput):
    """Where the bytes of an image are."""

    url = serializers.CharField(trim_whitespace=False)
    checksum = serializers.CharField(
        required=False, allow_blank=True, help_text="sha256:HEX or sha512:HEX; other bytes are refused."
    )
    checksum_url = serializers.CharField(
        required=False, allow_blank=True, help_text="A list such as SHA256SUMS that names the file instead."
    )


class ImageInput(ImageChange):
    """A new image, without its data."""

    id = serializers.UUIDField(required=False, help_text="For images that have an id elsewhere.")
    container_format = serializers.CharField(required=False)
    import_from = ImageImportInput(required=False, help_text="Where its bytes are fetched from, instead of an upload.")


class ImageMemberInput(StrictInput):
    """A project to share with."""

    project = serializers.UUIDField()


class ImageMemberAnswer(StrictInput):
    """What a member says."""

    status = serializers.CharField(help_text="accepted, rejected or pending")


class ImageMemberOutput(serializers.ModelSerializer[ImageMember]):
    """A project that an image is shared with."""

    project_name = serializers.CharField(source="project.name")

    class Meta:
        model = ImageMember
        fields = ["project", "project_name", "status", "created_at", "updated_at"]


class ImageTaskOutput(serializers.ModelSerializer[ImageTask]):
    """The import or conversion that gets, or got, the bytes of an image. Its URL is shown without its query."""

    source_url = serializers.SerializerMethodField()
    kind = serializers.CharField()
    state = serializers.CharField(help_text="pending, processing, success or failure")

    class Meta:
        model = ImageTask
        fields = [
            "kind",
            "state",
            "done_bytes",
            "total_bytes",
            "source_url",
            "reason",
            "created_at",
            "updated_at",
            "finished_at",
        ]

    def get_source_url(self, task: ImageTask) -> str:
        """A query may be a signature that lets its holder read."""
        return url_without_query(task.source_url)


class ImageOutput(serializers.ModelSerializer[Image]):
    """One image. `status_reason` says why the last upload was refused; `task` how far its import or conversion is."""

    refusals = serializers.SerializerMethodField()
    task = serializers.SerializerMethodField()

    class Meta:
        model = Image
        fields = [
            "id",
            "name",
            "project",
            "visibility",
            "status",
            "status_reason",
            "disk_format",
            "container_format",
            "checksum_sha256",
            "expected_sha256",
            "size_bytes",
            "virtual_size_bytes",
            "min_disk_gib",
            "min_ram_mib",
            "properties",
            "refusals",
            "protected",
            "task",
            "created_at",
            "updated_at",
        ]

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_refusals(self, image: Image) -> list[str]:
        """Why no instance is made of it here, by what its properties ask for."""
        return image_refusals(image.properties)

    @extend_schema_field(ImageTaskOutput(allow_null=True))
    def get_task(self, image: Image) -> dict[str, Any] | None:
        """None for an image whose bytes were sent, in a format that hosts take."""
        task: ImageTask | None = getattr(image, "task", None)
        return None if task is None else dict(ImageTaskOutput(task).data)


class ImageCopyInput(StrictInput):
    """How the copy of a well-known image is called, and who sees it."""

    name = serializers.CharField(required=False, trim_whitespace=False)
    visibility = serializers.CharField(required=False)


class WellKnownImageOutput(serializers.Serializer[Any]):
    """An image that can be copied."""

    key = serializers.CharField()
    name = serializers.CharField()
    url = serializers.CharField()
    checksum = serializers.CharField()
    checksum_url = serializers.CharField()
    disk_format = serializers.CharField()
    min_disk_gib = serializers.IntegerField()
    min_ram_mib = serializers.IntegerField()
    properties = serializers.DictField()
