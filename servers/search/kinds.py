"""What is searched: each kind with the rows that a caller may see of it, and by what they are found."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.fields.json import KT

from controlplane.audit_log.selectors import audit_entries, audit_scope
from controlplane.identity.domain import Caller
from controlplane.identity.models import Project, User
from controlplane.identity.policy import allows
from controlplane.work.control import works
from scheduling.decisions.selectors.decisions import decision_list
from scheduling.fleet.selectors.aggregates import aggregates_listed
from scheduling.fleet.selectors.hosts import host_nodes
from scheduling.policies.selectors.policies import policy_list
from servers.bulk.selectors import bulk_jobs_visible
from servers.catalog.selectors.flavor import flavors_visible
from servers.catalog.selectors.keypair import keypairs_of
from servers.catalog.selectors.server_group import server_groups_visible
from servers.images.selectors import images_visible
from servers.instances.selectors.instances import instances_visible, pending_instances
from servers.models import InstanceAction, IPAllocation, StoragePool
from servers.networks.selectors.address_search import addressed
from servers.networks.selectors.floating_ips import floating_ips_visible
from servers.networks.selectors.groups import groups_visible
from servers.networks.selectors.networks import networks_visible
from servers.networks.selectors.ports import ports_visible
from servers.networks.selectors.routers import routers_visible
from servers.search.terms import SearchTerm
from servers.volumes.selectors.backups import backups_visible
from servers.volumes.selectors.volumes import snapshots_visible, volumes_visible


@dataclass(frozen=True, slots=True)
class SearchKind:
    """`action` is what a caller needs; `rows` are those that he may see. `key` is what its page is addressed by,
    `title` what it is called, `note` and `project` are columns shown beside it.

    Of what grows for ever (`grows`) only whole ids are looked for: a part of one would read the whole table.
    """

    kind: str
    action: str
    rows: Callable[[Caller], QuerySet[Any]]
    names: tuple[str, ...] = ("name",)
    title: str = "name"
    key: str = "pk"
    note: str = ""
    project: str = ""
    ids: tuple[str, ...] = ("pk",)
    grows: bool = False
    requested: Callable[[str], Q] | None = None
    addressed: Callable[[str], Q] | None = None

    def condition(self, term: SearchTerm) -> Q | None:
        """Where the term may stand; None where it cannot be of this kind, and nothing needs to be read."""
        found = Q()
        for name in self.names:
            found |= Q(**{f"{name}__icontains": term.text})
        for name in self.ids:
            if term.uuid is not None:
                found |= Q(**{name: term.uuid})
            elif term.begins_id and not self.grows:
                found |= Q(**{f"{name}__istartswith": term.text})
        if term.is_request and self.requested is not None:
            found |= self.requested(term.text)
        if term.is_address and self.addressed is not None:
            found |= self.addressed(term.text)
        return found or None


def _request(text: str) -> Q:
    return Q(request_id=text)


def _request_of_an_action(text: str) -> Q:
    """Created by it, or acted upon by it."""
    acted = InstanceAction.objects.filter(request_id=text).values("instance_uuid")
    return Q(request_id=text) | Q(pk__in=acted)


def _begins(column: str) -> Callable[[str], Q]:
    return lambda text: Q(**{f"{column}__istartswith": text})


def _instances(caller: Caller) -> QuerySet[Any]:
    return instances_visible(caller=caller, all_projects=True)


def _pending(caller: Caller) -> QuerySet[Any]:
    rows = pending_instances(caller=caller, all_projects=True)
    return rows.annotate(wanted_name=KT("instance_body__name"))


def _audit_entries(caller: Caller) -> QuerySet[Any]:
    return audit_entries(project_id=audit_scope(caller, sees_all=allows(caller, "audit_log:read_all")))


KINDS: tuple[SearchKind, ...] = (
    SearchKind(
        "instance",
        "instances:read",
        _instances,
        note="vm_state",
        project="project_id",
        requested=_request_of_an_action,
        addressed=addressed,
    ),
    SearchKind(
        "instance",
        "instances:read",
        _pending,
        names=("wanted_name",),
        title="wanted_name",
        key="instance_uuid",
        project="project_id",
        ids=("instance_uuid",),
        requested=_request,
    ),
    SearchKind(
        "host",
        "hosts:read",
        lambda _caller: host_nodes(),
        names=("host", "hypervisor_hostname"),
        title="host",
        key="host",
        note="host_ip",
        addressed=_begins("host_ip"),
    ),
    SearchKind("aggregate", "aggregates:read", lambda _caller: aggregates_listed(), note="zone"),
    SearchKind("image", "images:read", lambda caller: images_visible(caller=caller), note="status"),
    SearchKind("flavor", "flavors:read", lambda caller: flavors_visible(caller=caller)),
    SearchKind("network", "networks:read", networks_visible, project="project_id"),
    SearchKind(
        "port",
        "ports:read",
        ports_visible,
        names=("name", "mac"),
        title="mac",
        note="name",
        project="project_id",
        addressed=lambda text: Q(pk__in=IPAllocation.objects.filter(address__istartswith=text).values("port_id")),
    ),
    SearchKind("router", "routers:read", lambda caller: routers_visible(caller=caller), project="project_id"),
    SearchKind(
        "floating_ip",
        "floating_ips:read",
        lambda caller: floating_ips_visible(caller=caller),
        names=(),
        title="address",
        note="fixed_address",
        project="project_id",
        addressed=lambda text: Q(address__istartswith=text) | Q(fixed_address__istartswith=text),
    ),
    SearchKind("security_group", "security_groups:read", lambda one: groups_visible(caller=one), project="project_id"),
    SearchKind(
        "server_group", "server_groups:read", lambda one: server_groups_visible(caller=one), project="project_id"
    ),
    SearchKind("volume", "volumes:read", volumes_visible, note="state", project="project_id"),
    SearchKind(
        "volume_snapshot", "volume_snapshots:read", snapshots_visible, note="volume__name", project="project_id"
    ),
    SearchKind("volume_backup", "volume_backups:read", backups_visible, note="volume_name", project="project_id"),
    SearchKind("storage_pool", "storage_pools:read", lambda _caller: StoragePool.objects.all()),
    SearchKind("keypair", "keypairs:read", lambda caller: keypairs_of(user_id=caller.user_id), key="name", ids=()),
    SearchKind("policy", "policies:read", lambda _caller: policy_list(), note="version"),
    SearchKind("project", "projects:read", lambda _caller: Project.objects.all()),
    SearchKind("user", "users:read", lambda _caller: User.objects.all(), names=("username", "email"), title="username"),
    SearchKind(
        "decision",
        "decisions:read",
        lambda caller: decision_list(caller=caller),
        names=(),
        title="outcome",
        note="created_at",
        project="project_id",
        grows=True,
        requested=_request,
    ),
    SearchKind(
        "work",
        "work:read",
        lambda _caller: works(),
        names=(),
        title="kind",
        note="state",
        ids=("pk", "subject"),
        grows=True,
        requested=_request,
    ),
    SearchKind(
        "bulk_job",
        "bulk_jobs:read",
        lambda caller: bulk_jobs_visible(caller=caller),
        names=(),
        title="action",
        note="user_name",
        requested=_request,
    ),
    SearchKind(
        "audit_log",
        "audit_log:read",
        _audit_entries,
        names=(),
        title="action",
        key="request_id",
        note="user_name",
        project="project_id",
        ids=(),
        grows=True,
        requested=_request,
    ),
)
