"""The list of the caller's key pairs."""

from controlplane.dashboard.lists.declaration import Column, ListDeclaration, ListFilter
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from servers.catalog.selectors.keypair import keypairs_of
from servers.filtersets import KeyPairFilterSet

KEYPAIRS = ListDeclaration(
    name="keypairs",
    thing="key pair",
    section="keypairs",
    cells="dashboard/catalog/keypair_cells.html",
    table_css="worklist",
    columns=(
        Column(
            "name", gettext_noop("Name"), lambda row: row.name, natural_order("name"), is_fixed=True, css="name what"
        ),
        Column(
            "fingerprint", gettext_noop("Fingerprint"), lambda row: row.fingerprint, ("fingerprint",), css="mono wrap"
        ),
        Column(
            "created",
            gettext_noop("Added"),
            lambda row: row.created_at,
            ("created_at",),
            hides_small=True,
            css="nowrap",
        ),
        Column("public_key", gettext_noop("Public key"), lambda row: row.public_key, is_default=False, css="mono wrap"),
        Column.tools(),
    ),
    rows=lambda caller, _asked: keypairs_of(user_id=caller.user_id),
    filterset=lambda _caller: KeyPairFilterSet,
    filters=(
        ListFilter("fingerprint", gettext_noop("Fingerprint"), placeholder=gettext_noop("All of it")),
        ListFilter("search", gettext_noop("Name contains")),
    ),
    sort="name",
    search_hint=gettext_noop("Name, fingerprint, comment of the key …"),
    head="dashboard/catalog/keypair_list_head.html",
    before="dashboard/catalog/keypair_list_before.html",
    empty="dashboard/catalog/keypair_list_empty.html",
    notes="dashboard/catalog/keypair_list_notes.html",
)
