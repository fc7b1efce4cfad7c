"""The list of volume types."""

from controlplane.dashboard.lists.declaration import Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from servers.filtersets_volume import VolumeTypeFilter
from servers.volumes.selectors.volume_types import volume_types_visible

VOLUME_TYPES = ListDeclaration(
    name="volume-types",
    thing="type",
    section="volume-types",
    cells="dashboard/volumes/type_cells.html",
    table_css="worklist",
    columns=(
        Column(
            "name", gettext_noop("Name"), lambda row: row.name, natural_order("name"), is_fixed=True, css="name what"
        ),
        Column("limits", gettext_noop("Limits"), lambda row: row.qos),
        Column("limits_per_gib", gettext_noop("Limits for each GiB"), lambda row: row.qos_per_gib, is_default=False),
        Column(
            "sizes",
            gettext_noop("Sizes"),
            lambda row: [row.min_gib, row.max_gib],
            ("min_gib", "max_gib"),
            hides_small=True,
        ),
        Column("where", gettext_noop("Where"), lambda row: [*row.pools, *row.kinds], hides_small=True),
        Column("default", gettext_noop("Default"), lambda row: row.is_default, ("is_default",), False),
        Column("public", gettext_noop("Public"), lambda row: row.is_public, ("is_public",), False),
        Column("encrypted", gettext_noop("Encrypted"), lambda row: row.is_encrypted, ("is_encrypted",), False),
        Column("multiattach", gettext_noop("For several"), lambda row: row.is_multiattach, ("is_multiattach",), False),
        Column("description", gettext_noop("Description"), lambda row: row.description, ("description",), False),
        Column("created", gettext_noop("Created"), lambda row: row.created_at, ("created_at",), False, css="nowrap"),
        Column("id", gettext_noop("ID"), lambda row: row.pk, ("pk",), False, css="mono"),
        Column("tools", "", lambda _row: None, css="tools", is_tool=True, is_for_admins=True),
    ),
    rows=lambda caller, _asked: volume_types_visible(caller),
    filterset=lambda _caller: VolumeTypeFilter,
    filters=(
        ListFilter("is_encrypted", gettext_noop("Encrypted"), is_first=True, choices=lambda _caller: YES_NO),
        ListFilter("is_multiattach", gettext_noop("For several instances"), choices=lambda _caller: YES_NO),
        ListFilter("is_public", gettext_noop("Public"), choices=lambda _caller: YES_NO),
        ListFilter("name", gettext_noop("Name contains")),
    ),
    sort="name",
    search_hint=gettext_noop("Name, description, pool, id …"),
    head="dashboard/volumes/type_list_head.html",
    empty="dashboard/volumes/type_list_empty.html",
)
