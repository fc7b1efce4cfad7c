"""What answers of the Image API hold."""

from typing import NotRequired, TypedDict

from controlplane.openstack.answers import WithOthers
from controlplane.openstack.shapes import LinkJson


class StoresJson(TypedDict, total=False):
    """Of an image that has bytes, and of one that was ever imported."""

    stores: str
    os_glance_importing_to_stores: str
    os_glance_failed_import: str


class ImageJson(StoresJson):
    """An image. What nobody knows yet is null. Keys that are not named here are its owner's own properties."""

    id: str
    name: str
    status: str
    visibility: str
    protected: bool
    os_hidden: bool
    owner: str | None
    disk_format: str
    container_format: str
    min_disk: int
    min_ram: int
    size: int | None
    virtual_size: int | None
    checksum: str | None
    os_hash_algo: str | None
    os_hash_value: str | None
    created_at: str
    updated_at: str
    tags: list[str]
    self: str
    file: str
    schema: str


ShownImage = WithOthers[ImageJson, str]


class ImagesShown(TypedDict):
    """A page of images; `next` where there is more."""

    images: list[ShownImage]
    first: str
    schema: str
    next: NotRequired[str]


class MemberJson(TypedDict):
    """A project that an image is shared with."""

    member_id: str
    image_id: str
    status: str
    created_at: str
    updated_at: str
    schema: str


class MembersShown(TypedDict):
    members: list[MemberJson]
    schema: str


class ImportMethod(TypedDict):
    name: str
    uri: str


class ImportRequest(TypedDict):
    method: ImportMethod


class TaskInput(TypedDict):
    """What was asked for; of a conversion no more than the image."""

    image_id: str
    import_req: NotRequired[ImportRequest]


class TaskFacts(TypedDict):
    id: str
    type: str
    status: str
    owner: str | None
    created_at: str
    updated_at: str
    expires_at: None


class TaskJson(TaskFacts):
    """The import or conversion of an image."""

    image_id: str
    input: TaskInput
    result: None
    message: str


class TaskShown(TaskJson):
    self: str
    schema: str


class ListedTask(TaskFacts):
    self: str
    schema: str


class TasksShown(TypedDict):
    """A page of tasks; `next` where there is more."""

    tasks: list[ListedTask]
    first: str
    schema: str
    next: NotRequired[str]


class ImageTasksShown(TypedDict):
    """At most one."""

    tasks: list[TaskJson]


class MethodNames(TypedDict):
    description: str
    type: str
    value: list[str]


ImportMethodsShown = TypedDict("ImportMethodsShown", {"import-methods": MethodNames})


class StoreJson(TypedDict):
    id: str
    default: str
    description: str


class StoresShown(TypedDict):
    stores: list[StoreJson]


class PublishedSchema(TypedDict):
    """A JSON schema."""

    name: str
    properties: dict[str, object]
    additionalProperties: NotRequired[dict[str, str]]
    links: NotRequired[list[LinkJson]]


class ImageVersionJson(TypedDict):
    id: str
    status: str
    links: list[LinkJson]


class ImageVersionsShown(TypedDict):
    versions: list[ImageVersionJson]
