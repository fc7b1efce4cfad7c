"""The list of volumes."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from controlplane.dashboard.lists.declaration import Asked, Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.dashboard.volumes.words import is_busy
from controlplane.identity.domain import Caller
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from servers.filtersets_volume import VolumeFilter
from servers.networks.selectors.topology import instance_names
from servers.volumes.selectors.volume_types import volume_types_visible
from servers.volumes.selectors.volumes import volumes_shown

MAX_TYPES = 200


@dataclass(frozen=True, slots=True)
class VolumeRow:
    """A volume with the names of the instances that have it."""

    volume: Any
    holders: tuple[tuple[Any, str], ...]


def _prepared(_caller: Caller, volumes: Sequence[Any], _asked: Asked) -> list[VolumeRow]:
    names = instance_names({each.instance_uuid for one in volumes for each in one.attachments.all()})
    return [VolumeRow(one, _holders(one, names)) for one in volumes]


def _holders(volume: Any, names: dict[uuid.UUID, str]) -> tuple[tuple[Any, str], ...]:
    return tuple((each, names.get(each.instance_uuid) or gettext("an instance")) for each in volume.attachments.all())


def _types(caller: Caller) -> list[tuple[str, str]]:
    return [(str(one.pk), one.name) for one in volume_types_visible(caller).order_by("name")[:MAX_TYPES]]


VOLUMES = ListDeclaration(
    name="volumes",
    thing="volume",
    section="volumes",
    cells="dashboard/volumes/volume_cells.html",
    columns=(
        Column(
            "name", gettext_noop("Name"), lambda row: row.volume.name, natural_order("name"), is_fixed=True, css="name"
        ),
        Column("state", gettext_noop("State"), lambda row: row.volume.state, ("state",)),
        Column("why", gettext_noop("Why"), lambda row: row.volume.fault, is_default=False),
        Column("size", gettext_noop("Size"), lambda row: row.volume.size_gib, ("size_gib",), is_number=True),
        Column("instance", gettext_noop("Instance"), lambda row: [name for _, name in row.holders]),
        Column(
            "type",
            gettext_noop("Type"),
            lambda row: row.volume.volume_type.name if row.volume.volume_type else None,
            ("volume_type__name",),
            hides_small=True,
        ),
        Column(
            "pool",
            gettext_noop("Pool"),
            lambda row: str(row.volume.pool) if row.volume.pool else None,
            ("pool__name",),
            is_for_admins=True,
            hides_small=True,
        ),
        Column(
            "project",
            gettext_noop("Project"),
            lambda row: row.volume.project.name,
            ("project__name",),
            is_for_admins=True,
            hides_small=True,
        ),
        Column("bootable", gettext_noop("Bootable"), lambda row: row.volume.is_bootable, ("is_bootable",), False),
        Column("encrypted", gettext_noop("Encrypted"), lambda row: row.volume.is_encrypted, ("is_encrypted",), False),
        Column("description", gettext_noop("Description"), lambda row: row.volume.description, ("description",), False),
        Column(
            "created",
            gettext_noop("Created"),
            lambda row: row.volume.created_at,
            ("created_at",),
            css="nowrap",
            hides_small=True,
        ),
        Column("id", gettext_noop("ID"), lambda row: row.volume.pk, ("pk",), False, css="mono"),
    ),
    rows=lambda caller, _asked: volumes_shown(caller).select_related("volume_type", "pool", "project"),
    prepare=_prepared,
    filterset=lambda _caller: VolumeFilter,
    filters=(
        ListFilter("state", gettext_noop("State"), is_first=True),
        ListFilter("volume_type", gettext_noop("Type"), choices=_types),
        ListFilter("is_bootable", gettext_noop("Bootable"), choices=lambda _caller: YES_NO),
        ListFilter("is_encrypted", gettext_noop("Encrypted"), choices=lambda _caller: YES_NO),
        ListFilter("is_multiattach", gettext_noop("For several instances"), choices=lambda _caller: YES_NO),
        ListFilter("name", gettext_noop("Name contains")),
    ),
    sort="-created",
    search_hint=gettext_noop("Name, instance, type, id …"),
    is_live=lambda rows: any(is_busy(one.state) for one in rows),
    watch="watch=volumes",
    before="dashboard/volumes/volume_take.html",
    head="dashboard/volumes/volume_list_head.html",
    empty="dashboard/volumes/volume_list_empty.html",
)
