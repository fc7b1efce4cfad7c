"""The list of the snapshots of all volumes."""

from controlplane.dashboard.lists.declaration import Column, ListDeclaration, ListFilter
from controlplane.dashboard.volumes.words import is_busy
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from servers.filtersets_volume import VolumeSnapshotFilter
from servers.volumes.selectors.volumes import snapshots_visible

VOLUME_SNAPSHOTS = ListDeclaration(
    name="volume-snapshots",
    thing="snapshot",
    section="volume-snapshots",
    cells="dashboard/volumes/snapshot_cells.html",
    table_css="worklist",
    columns=(
        Column(
            "name", gettext_noop("Name"), lambda row: row.name, natural_order("name"), is_fixed=True, css="name what"
        ),
        Column("state", gettext_noop("State"), lambda row: row.state, ("state",)),
        Column("why", gettext_noop("Why"), lambda row: row.fault, is_default=False),
        Column("volume", gettext_noop("Of volume"), lambda row: row.volume.name, natural_order("volume__name")),
        Column("size", gettext_noop("Size"), lambda row: row.size_gib, ("size_gib",), is_number=True),
        Column("used", gettext_noop("In its pool"), lambda row: row.used_bytes, ("used_bytes",), False, is_number=True),
        Column("consistent", gettext_noop("Consistent"), lambda row: row.is_consistent, ("is_consistent",), False),
        Column(
            "project",
            gettext_noop("Project"),
            lambda row: row.project.name,
            ("project__name",),
            False,
            is_for_admins=True,
        ),
        Column("description", gettext_noop("Description"), lambda row: row.description, ("description",), False),
        Column(
            "created",
            gettext_noop("Taken"),
            lambda row: row.created_at,
            ("created_at",),
            css="nowrap",
            hides_small=True,
        ),
        Column("id", gettext_noop("ID"), lambda row: row.pk, ("pk",), False, css="mono"),
        Column.tools(),
    ),
    rows=lambda caller, _asked: snapshots_visible(caller).select_related("volume", "project"),
    filterset=lambda _caller: VolumeSnapshotFilter,
    filters=(
        ListFilter("state", gettext_noop("State"), is_first=True),
        ListFilter("volume", gettext_noop("Volume"), placeholder=gettext_noop("Its id")),
        ListFilter("name", gettext_noop("Name contains")),
    ),
    sort="-created",
    search_hint=gettext_noop("Name, volume, description, id …"),
    is_live=lambda rows: any(is_busy(one.state) for one in rows),
    watch="watch=volumes",
    empty="dashboard/volumes/snapshot_list_empty.html",
)
