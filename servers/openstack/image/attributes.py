"""The keys of an image in the Image API: which are columns of the row, which nobody writes, and which are its owner's
own properties: all others.
"""

from collections.abc import Mapping
from typing import Any

from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.faults import ApiFault, bad_request
from servers.images.domain.images import ContainerFormat, DiskFormat, Visibility
from servers.models import Image

COLUMNS = {
    "name": "name",
    "visibility": "visibility",
    "protected": "protected",
    "disk_format": "disk_format",
    "container_format": "container_format",
    "min_disk": "min_disk_gib",
    "min_ram": "min_ram_mib",
    "tags": "tags",
}
"""{key: field of the services}, of those that are written."""
NAMES = {field: key for key, field in COLUMNS.items()}

READ_ONLY = frozenset(
    {
        "status",
        "created_at",
        "updated_at",
        "checksum",
        "os_hash_algo",
        "os_hash_value",
        "size",
        "virtual_size",
        "direct_url",
        "self",
        "file",
        "schema",
    }
)
RESERVED = frozenset({"deleted", "deleted_at", "is_public", "location", "stores"})
RESERVED_PREFIX = "os_glance"
JUDGED = frozenset({"owner", "os_hidden"})
"""Written with the one value that they have."""
BASE = frozenset(COLUMNS) | READ_ONLY | RESERVED | JUDGED | {"id", "locations"}
"""No property has such a name here: it would be hidden by the key that is ours."""

WRITTEN: dict[str, Any] = {
    "name": {"type": "string", "maxLength": 255, "description": "What people call it."},
    "visibility": {
        "type": "string",
        "enum": [one.value for one in Visibility],
        "description": "Who may see and use it.",
    },
    "protected": {"type": "boolean", "description": "It cannot be deleted while this is set."},
    "os_hidden": {"type": "boolean", "description": "Always false: no image is left out of lists here."},
    "owner": {"type": ["null", "string"], "description": "The project that made it; null for the installation."},
    "disk_format": {
        "type": "string",
        "enum": [one.value for one in DiskFormat],
        "description": "How its bytes are laid out.",
    },
    "container_format": {
        "type": "string",
        "enum": [one.value for one in ContainerFormat],
        "description": "What is around the disk.",
    },
    "min_disk": {"type": "integer", "minimum": 0, "description": "GiB of disk that an instance needs."},
    "min_ram": {"type": "integer", "minimum": 0, "description": "MiB of memory that an instance needs."},
    "tags": {
        "type": "array",
        "items": {"type": "string", "maxLength": 255},
        "description": "Words by which lists find it.",
    },
}
"""The forms of what is written, as request bodies and the published schema have them."""


def writable_check(key: str) -> None:
    """Raises Fault 403 for a key that nobody writes."""
    if key in READ_ONLY:
        raise ApiFault(403, f"Attribute '{key}' is read-only.")
    if key in RESERVED or key.startswith(RESERVED_PREFIX):
        raise ApiFault(403, f"Attribute '{key:.80}' is reserved.")
    if key == "locations":
        raise ApiFault(403, "Attribute 'locations' is not written here: bytes are uploaded or imported.")


def fields_written(wanted: Mapping[str, Any], *, owner: object) -> dict[str, Any]:
    """The fields of the services that base attributes set. Raises Fault 400 and 403 for what there is none of."""
    if wanted.get("os_hidden"):
        raise bad_request("os_hidden: Images are not hidden here; make it private or deactivate it.")
    if "owner" in wanted and parse_uuid(wanted["owner"]) != owner:
        raise ApiFault(403, "owner: An image belongs to the project of the token that makes it, and stays there.")
    return {field: wanted[key] for key, field in COLUMNS.items() if key in wanted}


def properties_of(image: Image) -> dict[str, str]:
    """Those that top-level keys can show."""
    return {key: value for key, value in image.properties.items() if not is_base(key)}


def is_base(key: str) -> bool:
    """Whether the key is no property."""
    return key in BASE or key.startswith(RESERVED_PREFIX)
