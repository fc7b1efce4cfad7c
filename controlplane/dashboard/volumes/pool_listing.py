"""The list of storage pools, for administrators."""

from typing import Any

from controlplane.dashboard.lists.declaration import Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from servers.filtersets_volume import StoragePoolFilter
from servers.volumes.selectors.pools import pool_host_count, pools_shown


def _problems(row: Any) -> list[str]:
    return [f"{one.host}: {one.problem}" for one in row.hosts.all() if one.problem]


STORAGE_POOLS = ListDeclaration(
    name="storage-pools",
    thing="pool",
    section="storage-pools",
    cells="dashboard/volumes/pool_cells.html",
    columns=(
        Column("name", gettext_noop("Name"), lambda row: row.name, natural_order("name"), is_fixed=True, css="name"),
        Column("kind", gettext_noop("Kind"), lambda row: row.kind, ("kind",)),
        Column("free", gettext_noop("Free"), lambda row: row.free_bytes, ("free_bytes",)),
        Column("total", gettext_noop("Size"), lambda row: row.total_bytes, ("total_bytes",), False, is_number=True),
        Column("volumes", gettext_noop("Volumes"), lambda row: row.volume_count, ("volume_count",), is_number=True),
        Column(
            "hosts", gettext_noop("Hosts"), lambda row: len(row.hosts.all()), (pool_host_count(),), hides_small=True
        ),
        Column("problems", gettext_noop("Problems"), _problems, is_default=False, css="wrap"),
        Column("host", gettext_noop("Of host"), lambda row: row.host, natural_order("host"), False),
        Column(
            "ratio", gettext_noop("Promised per GiB"), lambda row: row.allocation_ratio, ("allocation_ratio",), False
        ),
        Column("enabled", gettext_noop("Enabled"), lambda row: row.is_enabled, ("is_enabled",), False),
        Column(
            "reported",
            gettext_noop("Reported"),
            lambda row: row.reported_at,
            ("reported_at",),
            hides_small=True,
            css="nowrap",
        ),
        Column("id", gettext_noop("ID"), lambda row: row.pk, ("pk",), False, css="mono"),
    ),
    rows=lambda _caller, _asked: pools_shown(),
    filterset=lambda _caller: StoragePoolFilter,
    filters=(
        ListFilter("kind", gettext_noop("Kind"), is_first=True),
        ListFilter("is_enabled", gettext_noop("Enabled"), choices=lambda _caller: YES_NO),
        ListFilter("host", gettext_noop("Of host"), placeholder=gettext_noop("Exact name")),
        ListFilter("name", gettext_noop("Name contains")),
    ),
    sort="name",
    search_hint=gettext_noop("Name, kind, host, problem, id …"),
    empty="dashboard/volumes/pool_list_empty.html",
)
