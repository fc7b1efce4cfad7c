"""Images, members and tasks as the Image API shows them."""

from controlplane.openstack.answers import with_others
from servers.images.domain.images import OPEN_TASK_STATES, ImageTaskKind, ImageTaskState
from servers.images.domain.remote_sources import url_without_query
from servers.images.domain.signatures import MD5
from servers.images.services.image_store import READABLE
from servers.models import Image, ImageMember, ImageTask
from servers.openstack.call import whole_seconds
from servers.openstack.image.attributes import properties_of
from servers.openstack.image.shapes import ImageJson, MemberJson, ShownImage, StoresJson, TaskInput, TaskJson
from servers.openstack.image.stores import store_id

# Glance writes links without the prefix that it is mounted at, and its clients count on that.
IMAGES = "/v2/images"
SCHEMAS = "/v2/schemas"
TASKS = "/v2/tasks"
TASK_TYPES = {ImageTaskKind.IMPORT: "api_image_import", ImageTaskKind.CONVERT: "image_convert"}
HASH = "sha256"


def image_json(image: Image) -> ShownImage:
    """All of an image; what nobody knows yet is null."""
    has_bytes = image.status in READABLE
    fields: ImageJson = {
        **_stores_of(image),
        "id": str(image.pk),
        "name": image.name,
        "status": image.status,
        "visibility": image.visibility,
        "protected": image.protected,
        "os_hidden": False,
        "owner": image.project_id.hex if image.project_id else None,
        "disk_format": image.disk_format,
        "container_format": image.container_format,
        "min_disk": image.min_disk_gib,
        "min_ram": image.min_ram_mib,
        "size": image.size_bytes if has_bytes else None,
        "virtual_size": (image.virtual_size_bytes or None) if has_bytes else None,
        "checksum": md5_of(image),
        "os_hash_algo": HASH if has_bytes and image.checksum_sha256 else None,
        "os_hash_value": (image.checksum_sha256 or None) if has_bytes else None,
        "created_at": whole_seconds(image.created_at),
        "updated_at": whole_seconds(image.updated_at),
        "tags": [one.tag for one in image.tags.all()],
        "self": f"{IMAGES}/{image.pk}",
        "file": f"{IMAGES}/{image.pk}/file",
        "schema": f"{SCHEMAS}/image",
    }
    return with_others(properties_of(image), fields)


def _stores_of(image: Image) -> StoresJson:
    """The store that has its bytes, and the one that an import is under way to, or failed for, as Glance says them."""
    shown: StoresJson = {"stores": store_id()} if image.status in READABLE else {}
    task: ImageTask | None = getattr(image, "task", None)
    if task is None or task.kind != ImageTaskKind.IMPORT:
        return shown
    return {
        **shown,
        "os_glance_importing_to_stores": store_id() if task.state in OPEN_TASK_STATES else "",
        "os_glance_failed_import": store_id() if task.state == ImageTaskState.FAILURE else "",
    }


def md5_of(image: Image) -> str | None:
    """None for bytes that a host sent, of which none is made."""
    found: str | None = image.digests.get(MD5) if image.status in READABLE else None
    return found


def member_json(member: ImageMember) -> MemberJson:
    """A project that an image is shared with."""
    return {
        "member_id": member.project_id.hex,
        "image_id": str(member.image_id),
        "status": member.status,
        "created_at": whole_seconds(member.created_at),
        "updated_at": whole_seconds(member.updated_at),
        "schema": f"{SCHEMAS}/member",
    }


def task_json(image: Image, task: ImageTask) -> TaskJson:
    """The import or conversion of an image, which has one at a time, and so its id. The URL is without its query."""
    asked: TaskInput = {"image_id": str(image.pk)}
    if task.kind == ImageTaskKind.IMPORT:
        asked["import_req"] = {"method": {"name": "web-download", "uri": url_without_query(task.source_url)}}
    return {
        "id": str(image.pk),
        "image_id": str(image.pk),
        "type": TASK_TYPES[ImageTaskKind(task.kind)],
        "status": task.state,
        "owner": image.project_id.hex if image.project_id else None,
        "input": asked,
        "result": None,
        "message": task.reason,
        "created_at": whole_seconds(task.created_at),
        "updated_at": whole_seconds(task.updated_at),
        "expires_at": None,
    }
