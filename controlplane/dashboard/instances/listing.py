"""The list of instances."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.db.models.fields.json import KT
from django.utils.translation import gettext

from controlplane.dashboard.instances.timeline import is_changing
from controlplane.dashboard.lists.declaration import Asked, Column, ListDeclaration, ListFilter, ListSwitch, RowsAhead
from controlplane.dashboard.texts import fault_text
from controlplane.identity.domain import Caller
from controlplane.identity.selectors.people import project_names, user_names
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from servers.conf import server_options
from servers.filtersets_instance import instance_filters
from servers.filtersets_pending import pending_matching
from servers.instances.domain.soft_delete import ends_at
from servers.instances.domain.state_reasons import reason_sentence, shows_fault
from servers.instances.selectors.instances import (
    instance_details,
    instances_visible,
    latest_faults,
    pending_instances,
)
from servers.instances.selectors.interfaces import instance_addresses
from servers.instances.selectors.pending import pending_instance
from servers.states import STATUSES, api_status, power_name

EVERYWHERE = "all_projects"


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """One instance with what its cells need besides. `fault` is what failed; empty where nothing did."""

    instance: Any
    addresses: dict[str, list[str]]
    fault: str
    restorable_until: datetime | None
    project: str
    owner: str

    @property
    def pk(self) -> uuid.UUID:
        """Its id."""
        return uuid.UUID(str(self.instance.pk))

    @property
    def status(self) -> str:
        """As the API says it."""
        return api_status(self.instance.vm_state, self.instance.task_state)

    @property
    def why(self) -> str:
        """What is wrong with it; empty where nothing is."""
        return self.fault or reason_sentence(self.instance)

    @property
    def why_shown(self) -> str:
        """The same in the reader's language."""
        return fault_text(self.fault) or reason_sentence(self.instance, gettext)

    @property
    def power(self) -> str:
        """In words."""
        return power_name(self.instance.power_state)

    @property
    def all_addresses(self) -> list[str]:
        """Network after network."""
        return [address for its in self.addresses.values() for address in its]

    @property
    def tags(self) -> list[str]:
        """Its words, in order."""
        return list(instance_details(self.instance).tags)


def _everywhere(caller: Caller, asked: Asked) -> bool:
    return caller.is_admin and asked.get(EVERYWHERE) in {"1", "true"}


def _rows(caller: Caller, asked: Asked) -> QuerySet[Any]:
    # What only the guest reads is long, and no cell shows it.
    rows = instances_visible(caller=caller, all_projects=_everywhere(caller, asked))
    return rows.defer("user_data", "public_key", "hosts_tried", "alternates", "rescue_image")


def _ahead(caller: Caller, asked: Asked) -> RowsAhead:
    """Those without a row yet, newest first."""
    waiting = pending_instances(caller=caller, all_projects=_everywhere(caller, asked))
    rows = pending_matching(waiting, asked, is_admin=caller.is_admin)
    return RowsAhead(rows.count(), lambda start, stop: [pending_instance(one) for one in rows[start:stop]])


def _prepared(caller: Caller, instances: Sequence[Any], asked: Asked) -> list[InstanceRow]:
    """Five queries at most, however many instances."""
    addresses = instance_addresses(list(instances))
    faults = latest_faults([one.pk for one in instances if shows_fault(one)])
    projects = project_names({one.project_id for one in instances}) if _everywhere(caller, asked) else {}
    owners = user_names({one.user_id for one in instances})
    interval_s = server_options().reclaim_instance_interval_s
    return [
        InstanceRow(
            instance=one,
            addresses=addresses.get(one.pk, {}),
            fault=faults[one.pk].message if one.pk in faults else "",
            restorable_until=ends_at(one.soft_deleted_at, interval_s),
            project=projects.get(one.project_id, ""),
            owner=owners.get(one.user_id, ""),
        )
        for one in instances
    ]


def _statuses(_caller: Caller) -> list[tuple[str, str]]:
    return [(one, gettext(one)) for one in STATUSES]


COLUMNS = (
    Column(
        "name", gettext_noop("Name"), lambda row: row.instance.name, natural_order("name"), is_fixed=True, css="name"
    ),
    Column("status", gettext_noop("Status"), lambda row: row.status, ("vm_state", "task_state")),
    Column("why", gettext_noop("Why"), lambda row: row.why, is_default=False),
    Column("power", gettext_noop("Power"), lambda row: row.power, ("power_state",), is_default=False),
    Column(
        "project",
        gettext_noop("Project"),
        lambda row: row.project,
        ("project_id",),
        shows_with=EVERYWHERE,
        is_for_admins=True,
    ),
    Column("owner", gettext_noop("Owner"), lambda row: row.owner, ("user_id",), is_default=False),
    Column(
        "flavor",
        gettext_noop("Flavor"),
        lambda row: row.instance.flavor.get("name"),
        (KT("flavor__name"),),
        hides_small=True,
    ),
    Column(
        "vcpus", gettext_noop("vCPUs"), lambda row: row.instance.vcpus, ("vcpus",), is_default=False, is_number=True
    ),
    Column(
        "memory",
        gettext_noop("Memory"),
        lambda row: row.instance.memory_mib,
        ("memory_mib",),
        is_default=False,
        is_number=True,
    ),
    Column(
        "disk",
        gettext_noop("Root disk"),
        lambda row: row.instance.root_gib,
        ("root_gib",),
        is_default=False,
        is_number=True,
    ),
    Column(
        "image",
        gettext_noop("Image"),
        lambda row: row.instance.image.get("name"),
        (KT("image__name"),),
        hides_small=True,
    ),
    Column("addresses", gettext_noop("Addresses"), lambda row: row.all_addresses, hides_small=True),
    Column(
        "host",
        gettext_noop("Host"),
        lambda row: row.instance.host,
        natural_order("host"),
        is_for_admins=True,
        hides_small=True,
    ),
    Column(
        "zone",
        gettext_noop("Zone"),
        lambda row: row.instance.availability_zone,
        ("availability_zone",),
        is_default=False,
    ),
    Column("tags", gettext_noop("Tags"), lambda row: row.tags, is_default=False),
    Column("key", gettext_noop("Key pair"), lambda row: row.instance.key_name, ("key_name",), is_default=False),
    Column(
        "protected", gettext_noop("Protected"), lambda row: row.instance.protected, ("protected",), is_default=False
    ),
    Column("locked", gettext_noop("Locked"), lambda row: row.instance.locked, ("locked",), is_default=False),
    Column(
        "launched", gettext_noop("Launched"), lambda row: row.instance.launched_at, ("launched_at",), is_default=False
    ),
    Column("created", gettext_noop("Created"), lambda row: row.instance.created_at, ("created_at",), css="nowrap"),
    Column("request", gettext_noop("Request"), lambda row: row.instance.request_id, ("request_id",), is_default=False),
    Column("id", gettext_noop("ID"), lambda row: row.instance.pk, ("pk",), is_default=False, css="mono"),
)

INSTANCES = ListDeclaration(
    name="instances",
    thing="instance",
    section="instances",
    cells="dashboard/instances/instance_cells.html",
    columns=COLUMNS,
    rows=_rows,
    ahead=_ahead,
    prepare=_prepared,
    filterset=lambda caller: instance_filters(is_admin=caller.is_admin),
    filters=(
        ListFilter("status", gettext_noop("Status"), is_first=True, choices=_statuses),
        ListFilter("host", gettext_noop("Host"), is_for_admins=True, placeholder=gettext_noop("Exact name")),
        ListFilter("flavor", gettext_noop("Flavor"), placeholder=gettext_noop("Exact name")),
        ListFilter("availability_zone", gettext_noop("Zone"), placeholder=gettext_noop("Exact name")),
        ListFilter("tag", gettext_noop("Tag")),
        ListFilter("name", gettext_noop("Name contains")),
        ListFilter("ip", gettext_noop("Address"), placeholder=gettext_noop("10.0.0.5 or 10.0.")),
        ListFilter("power_state", gettext_noop("Power")),
        ListFilter("created_after", gettext_noop("Created from")),
        ListFilter("created_before", gettext_noop("Created until")),
    ),
    switches=(ListSwitch(EVERYWHERE, gettext_noop("All projects")),),
    sort="-created",
    search_hint=gettext_noop("Name, address, owner, flavor, image, tag, metadata, id …"),
    is_live=lambda rows: any(is_changing(one) for one in rows),
    watch="watch=instances",
    head="dashboard/instances/instance_list_head.html",
    empty="dashboard/instances/instance_list_empty.html",
)
