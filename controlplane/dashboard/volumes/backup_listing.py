"""The list of the backups of all volumes."""

from controlplane.dashboard.lists.declaration import Column, ListDeclaration, ListFilter
from controlplane.dashboard.volumes.words import is_busy
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from servers.filtersets_volume import VolumeBackupFilter
from servers.volumes.selectors.backups import backups_shown

VOLUME_BACKUPS = ListDeclaration(
    name="volume-backups",
    thing="backup",
    section="volume-backups",
    cells="dashboard/volumes/backup_cells.html",
    table_css="worklist",
    columns=(
        Column(
            "name", gettext_noop("Name"), lambda row: row.name, natural_order("name"), is_fixed=True, css="name what"
        ),
        Column("state", gettext_noop("State"), lambda row: row.state, ("state",)),
        Column("why", gettext_noop("Why"), lambda row: row.fault, is_default=False),
        Column("volume", gettext_noop("Of volume"), lambda row: row.volume_name, natural_order("volume_name")),
        Column(
            "incremental", gettext_noop("What changed only"), lambda row: row.parent_id is not None, ("parent",), False
        ),
        Column("encrypted", gettext_noop("Encrypted"), lambda row: row.is_encrypted, ("is_encrypted",), False),
        Column("size", gettext_noop("Volume's size"), lambda row: row.size_gib, ("size_gib",), is_number=True),
        Column(
            "stored",
            gettext_noop("In the store"),
            lambda row: row.size_bytes,
            ("size_bytes",),
            is_number=True,
            hides_small=True,
        ),
        Column(
            "project",
            gettext_noop("Project"),
            lambda row: row.project.name,
            ("project__name",),
            False,
            is_for_admins=True,
        ),
        Column("description", gettext_noop("Description"), lambda row: row.description, ("description",), False),
        Column("checksum", gettext_noop("Checksum"), lambda row: row.checksum, is_default=False, css="mono wrap"),
        Column(
            "created", gettext_noop("Made"), lambda row: row.created_at, ("created_at",), css="nowrap", hides_small=True
        ),
        Column("id", gettext_noop("ID"), lambda row: row.pk, ("pk",), False, css="mono"),
        Column.tools(),
    ),
    rows=lambda caller, _asked: backups_shown(caller).select_related("project"),
    filterset=lambda _caller: VolumeBackupFilter,
    filters=(
        ListFilter("state", gettext_noop("State"), is_first=True),
        ListFilter("volume_id", gettext_noop("Volume"), placeholder=gettext_noop("Its id")),
        ListFilter("name", gettext_noop("Name contains")),
    ),
    sort="-created",
    search_hint=gettext_noop("Name, volume, checksum, id …"),
    is_live=lambda rows: any(is_busy(one.state) for one in rows),
    watch="watch=volumes",
    empty="dashboard/volumes/backup_list_empty.html",
)
