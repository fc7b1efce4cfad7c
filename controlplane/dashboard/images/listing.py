"""The list of images."""

from typing import Any

from django.db.models import QuerySet

from controlplane.dashboard.lists.declaration import Asked, Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.identity.domain import Caller
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from servers.filtersets import ImageFilterSet
from servers.images.domain.images import OPEN_TASK_STATES, ImageStatus
from servers.images.selectors import images_listed


def is_moving(image: Any) -> bool:
    """Whether it changes by itself soon."""
    task = getattr(image, "task", None)
    return image.status == ImageStatus.SAVING or (task is not None and task.state in OPEN_TASK_STATES)


def _rows(caller: Caller, asked: Asked) -> QuerySet[Any]:
    visibility, member_status = asked.get("visibility", ""), asked.get("member_status", "")
    return images_listed(caller=caller, visibility=visibility, member_status=member_status).select_related(
        "project", "task"
    )


IMAGES = ListDeclaration(
    name="images",
    thing="image",
    section="images",
    cells="dashboard/images/image_cells.html",
    columns=(
        Column("name", gettext_noop("Image"), lambda row: row.name, natural_order("name"), is_fixed=True, css="name"),
        Column("status", gettext_noop("Status"), lambda row: row.status, ("status",)),
        Column("visibility", gettext_noop("Visibility"), lambda row: row.visibility, ("visibility",)),
        Column(
            "project",
            gettext_noop("Project"),
            lambda row: row.project.name if row.project else None,
            ("project__name",),
            is_for_admins=True,
            hides_small=True,
        ),
        Column("format", gettext_noop("Format"), lambda row: row.disk_format, ("disk_format",), hides_small=True),
        Column("size", gettext_noop("Size"), lambda row: row.size_bytes, ("size_bytes",), is_number=True),
        Column(
            "min_disk",
            gettext_noop("Least disk"),
            lambda row: row.min_disk_gib,
            ("min_disk_gib",),
            False,
            is_number=True,
        ),
        Column(
            "min_memory",
            gettext_noop("Least memory"),
            lambda row: row.min_ram_mib,
            ("min_ram_mib",),
            False,
            is_number=True,
        ),
        Column("protected", gettext_noop("Protected"), lambda row: row.protected, ("protected",), False),
        Column(
            "checksum",
            gettext_noop("SHA-256"),
            lambda row: row.checksum_sha256,
            ("checksum_sha256",),
            False,
            css="mono wrap",
        ),
        Column("properties", gettext_noop("Properties"), lambda row: row.properties, is_default=False),
        Column(
            "created",
            gettext_noop("Added"),
            lambda row: row.created_at,
            ("created_at",),
            css="nowrap",
            hides_small=True,
        ),
        Column("id", gettext_noop("ID"), lambda row: row.pk, ("pk",), False, css="mono"),
    ),
    rows=_rows,
    filterset=lambda _caller: ImageFilterSet,
    filters=(
        ListFilter("visibility", gettext_noop("Visibility"), is_first=True),
        ListFilter("disk_format", gettext_noop("Format")),
        ListFilter("status", gettext_noop("Status")),
        ListFilter("protected", gettext_noop("Protected"), choices=lambda _caller: YES_NO),
        ListFilter("size_bytes_max", gettext_noop("At most so many bytes")),
        ListFilter("search", gettext_noop("Name contains")),
    ),
    sort="-created",
    search_hint=gettext_noop("Name, format, property, id …"),
    is_live=lambda rows: any(is_moving(one) for one in rows),
    before="dashboard/images/image_offers.html",
    head="dashboard/images/image_list_head.html",
    empty="dashboard/images/image_list_empty.html",
)
