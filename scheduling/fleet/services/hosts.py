"""Hosts come and go: registration by their agent, removal by an operator."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Case, F, Value, When
from django.db.models.functions import Coalesce, Greatest, Lower, Now

from computeagent.protocol.bounds import JSON_MAX_BYTES
from computeagent.protocol.hosts import HostReport, HostUsage, Registration
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, Invalid, NotFound
from controlplane.kernel.texts import phrase as _
from controlplane.work.hints import HOSTS, changed, host_topic
from controlplane.work.host_ownership import Ownership, owned
from scheduling.fleet.domain.cells import CELL1_ID
from scheduling.fleet.domain.machine_traits import machine_traits
from scheduling.fleet.services.heartbeats import intervals
from scheduling.fleet.services.measures import guest_cpu_column, measures_columns, version_columns, version_number
from scheduling.fleet.services.notifications import CREATE, DELETE, emit_service_updates
from scheduling.fleet.services.providers import host_aggregates_mirror, node_provider_delete, node_provider_sync
from scheduling.fleet.services.safe_mode import safe_mode_follow
from scheduling.fleet.services.usage_history import host_usage_record
from scheduling.models import (
    COMPUTE_BINARY,
    AggregateHost,
    BuildFailures,
    ComputeNode,
    HostMapping,
    HostUsageSample,
    Service,
)
from scheduling.topology.services.reports import topology_check, topology_store, topology_traits

NAME_MAX = 255
HYPERVISOR_NAME_MAX = 200
"""It is a provider's, too."""
SENTENCE_MAX = 500
AMOUNTS = (
    "vcpus",
    "dedicated_vcpus",
    "vgpus",
    "memory_mib",
    "disk_gib",
    "vcpus_used",
    "memory_used_mib",
    "disk_used_gib",
)

NOT_COLUMNS = frozenset({"numa_topology", "pci_devices", "versions", "clock_skew", "metrics", "pools"})
REPORTED = tuple(each.name for each in fields(HostReport) if each.name not in NOT_COLUMNS)


def host_register(*, host: str, report: HostReport) -> Registration:
    """Create or update service, compute node, host mapping (cell1), provider, inventory and traits.

    Idempotent, and one transaction: a host is either whole in all tables or absent. Unchanged reports write only the
    heartbeat. A host has one hypervisor, and neither changes its name: as Nova does, this raises Conflict when the host
    has a hypervisor of another name, or another host one of this name, or this name but for capitals. Raises Invalid.
    """
    _check(host, report)
    with transaction.atomic():
        service = _service_seen(host, version_number(report.versions.service))
        node = _node_write(service, report)
        topology_store(node, report)
        service = safe_mode_follow(service, node.safe_mode)
        node_provider_sync(node=node, disabled=service.disabled)
        host_aggregates_mirror(host=host)
        host_usage_record(host=host, metrics=report.metrics, usage=_usage_of(report))
    return _registration(service, node)


def services_alive(*, ago_s: Mapping[str, float]) -> int:
    """The agents of these hosts were alive so many seconds ago, by the database's clock: the heartbeat of all of them,
    in one UPDATE. What another process knows later stays. A second is begun, not ended: a host is never down too early.
    """
    if not ago_s:
        return 0
    hosts_of: defaultdict[int, list[str]] = defaultdict(list)
    for host, seconds in ago_s.items():
        hosts_of[int(seconds)].append(host)
    seen = Case(*(When(host__in=hosts, then=now_plus(-seconds)) for seconds, hosts in hosts_of.items()))
    rows = Service.objects.filter(host__in=list(ago_s), binary=COMPUTE_BINARY)
    return rows.update(last_seen_up=Greatest(Coalesce("last_seen_up", seen), seen), report_count=F("report_count") + 1)


def host_usage_report(*, host: str, usage: HostUsage, ownership: Ownership | None = None) -> None:
    """What is taken of it now, between two registrations. One UPDATE, which writes only where something changed, and
    where `ownership`, if given, holds.
    """
    wanted = {
        "vcpus_used": usage.vcpus,
        "memory_used_mib": usage.memory_mib,
        "disk_used_gib": usage.disk_gib,
        "running_guests": usage.running_guests,
    }
    if min(wanted.values()) < 0:
        raise Invalid(_("Nothing is taken less than 0 times."), field="usage")
    rows = ComputeNode.objects.filter(owned(ownership), host=host).exclude(**wanted)
    if rows.update(**wanted, updated_at=Now()):
        changed(HOSTS, host_topic(host))


@dataclass(frozen=True, slots=True)
class HostDeleted:
    """What went with a host: its compute nodes, the providers of their trees, the aggregates it was in, by name."""

    compute_node_uuids: tuple[UUID, ...]
    providers: int
    aggregates: tuple[str, ...]


def host_delete(*, host: str) -> HostDeleted:
    """The fleet's rows of a host, all in one transaction: service, compute node with topology and devices, mapping,
    memberships of aggregates, counters of failed builds, and its providers with inventories and traits.

    Whether it may go, and what goes with it elsewhere, is said by `servers.hosts`. Raises NotFound, and ProviderInUse
    while anybody holds allocations of one of its providers.
    """
    with transaction.atomic():
        # In the order in which a registration locks them; whoever adds it to an aggregate waits for its mapping.
        services = list(Service.objects.select_for_update().filter(host=host).order_by("pk"))
        nodes = list(ComputeNode.objects.select_for_update().filter(host=host).order_by("pk"))
        mappings = list(HostMapping.objects.select_for_update().filter(host=host))
        if not (services or nodes or mappings):
            raise NotFound(_("There is no host {host}.", host=host), field="host")
        members = AggregateHost.objects.filter(host=host)
        aggregates = tuple(members.order_by("aggregate__name").values_list("aggregate__name", flat=True))
        members.delete()
        providers = sum(node_provider_delete(node_id=node.id) for node in nodes)
        emit_service_updates(DELETE, services)
        for model in (BuildFailures, ComputeNode, Service, HostMapping, HostUsageSample):
            model._default_manager.filter(host=host).delete()
        changed(HOSTS, host_topic(host))
    return HostDeleted(tuple(node.id for node in nodes), providers, aggregates)


def _usage_of(report: HostReport) -> HostUsage:
    return HostUsage(report.vcpus_used, report.memory_used_mib, report.disk_used_gib, report.running_guests)


def _check(host: str, report: HostReport) -> None:
    names = (("host", host, NAME_MAX), ("hypervisor_hostname", report.hypervisor_hostname, HYPERVISOR_NAME_MAX))
    for field, name, longest in names:
        if not name.strip() or len(name) > longest or not name.isprintable():
            raise Invalid(
                _("{field} is a name of 1 to {name_max} printable characters.", field=field, name_max=longest),
                field=field,
            )
    for field in ("cpu_info", "stats"):
        if len(json.dumps(getattr(report, field))) > JSON_MAX_BYTES:
            raise Invalid(_("{field} has more than {most} bytes.", field=field, most=JSON_MAX_BYTES), field=field)
    if ":" in host:
        raise Invalid(_("A host's name has no colon: `zone:host` could not be told apart."), field="host")
    for field in AMOUNTS:
        if (getattr(report, field) or 0) < 0:
            raise Invalid(_("{field} is below 0.", field=field), field=field)
    topology_check(report)
    if not (report.vcpus or report.dedicated_vcpus) or not report.memory_mib:
        raise Invalid(_("A hypervisor has at least one vCPU and some memory."), field="vcpus")


def host_name_check(*, host: str) -> None:
    """Raises Conflict where another host's name differs in capitals alone: no DNS and few people tell them apart."""
    for model in (Service, HostMapping):
        others = model._default_manager.alias(folded=Lower("host")).filter(folded=Lower(Value(host))).exclude(host=host)
        if (other := others.values_list("host", flat=True).first()) is not None:
            raise Conflict(
                _("There is a host {other} already: {host} differs from it in capitals alone.", other=other, host=host),
                field="host",
                host=other,
            )


@contextmanager
def _name_is_free(host: str) -> Iterator[None]:
    """A name is one host's, whatever its capitals: of two that come at the same moment the database lets one in."""
    try:
        yield
    except IntegrityError:  # of a `get_or_create`, which has a savepoint of its own: the transaction goes on
        host_name_check(host=host)
        raise


def _service_seen(host: str, version: int) -> Service:
    with _name_is_free(host):
        service, is_new = Service.objects.get_or_create(host=host, binary=COMPUTE_BINARY)
        HostMapping.objects.get_or_create(host=host, defaults={"cell_id": CELL1_ID})
    Service.objects.filter(id=service.id).update(
        last_seen_up=Now(), report_count=F("report_count") + 1, version=version
    )
    emit_service_updates(CREATE, [service] if is_new else [])
    return service


def _node_write(service: Service, report: HostReport) -> ComputeNode:
    """The node of this host, with the report's values; written only where something changed."""
    wanted = _columns(report)
    other = ComputeNode.objects.filter(hypervisor_hostname=report.hypervisor_hostname).exclude(host=service.host)
    if (taken := other.values_list("host", flat=True).first()) is not None:
        raise Conflict(
            _(
                "Hypervisor {hypervisor_hostname} belongs to host {taken} already, and this agent "
                "calls itself {host}. Start it as {taken}; or empty and remove host {taken} first.",
                hypervisor_hostname=report.hypervisor_hostname,
                taken=taken,
                host=service.host,
            ),
            field="hypervisor_hostname",
            host=taken,
        )
    node = ComputeNode.objects.select_for_update().filter(host=service.host).first()
    if node is not None and node.hypervisor_hostname != report.hypervisor_hostname:
        raise Conflict(
            _(
                "Host {host} has the hypervisor {hypervisor_hostname}, and this agent reports "
                "{report_hypervisor_hostname}: a hypervisor keeps its name. Give it the old name "
                "again; or empty and remove host {host}, and let this hypervisor enrol anew.",
                host=service.host,
                hypervisor_hostname=node.hypervisor_hostname,
                report_hypervisor_hostname=report.hypervisor_hostname,
            ),
            field="hypervisor_hostname",
            host=service.host,
        )
    if node is None:
        changed(HOSTS, host_topic(service.host))  # in the transaction of the whole registration
        return ComputeNode.objects.create(service=service, host=service.host, **wanted, **measures_columns(report))
    new = {name: value for name, value in wanted.items() if getattr(node, name) != value}
    measured = measures_columns(report)
    if new or measured:
        ComputeNode.objects.filter(id=node.id).update(**new, **measured, updated_at=Now())
    if new:  # measures are other ones each minute, which is no reason for open pages to ask again
        changed(HOSTS, host_topic(service.host))
        for name, value in new.items():
            setattr(node, name, value)
    return node


def _columns(report: HostReport) -> dict[str, Any]:
    """The report as column values; tuples as the lists that JSON gives back, so that they compare equal."""
    # Usage belongs to our claims: cells and devices are stored with it by `topology_store`.
    values = {name: getattr(report, name) for name in REPORTED}
    values["supported_instances"] = [list(triple) for triple in report.supported_instances]
    values["safe_mode"] = report.safe_mode.replace("\0", "")[:SENTENCE_MAX]
    values["networks_lack"] = report.networks_lack.replace("\0", "")[:SENTENCE_MAX]
    values["guest_cpu"] = guest_cpu_column(report.guest_cpu)
    values["machines"] = [_lists(asdict(one)) for one in report.machines]
    values["traits"] = sorted({*report.traits, *topology_traits(report), *machine_traits(report.machines)})
    return values | version_columns(report.versions)


def _lists(values: dict[str, Any]) -> dict[str, list[str]]:
    return {name: list(words) for name, words in values.items()}


def _registration(service: Service, node: ComputeNode) -> Registration:
    return Registration(
        service_id=str(service.id),
        compute_node_uuid=str(node.id),
        disabled=service.disabled,
        disabled_reason=service.disabled_reason,
        forced_down=service.forced_down,
        **intervals(),
    )
