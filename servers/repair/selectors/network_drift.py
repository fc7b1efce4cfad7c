"""Ports and hosts whose networks are out of step, as rows show it."""

from collections.abc import Iterator

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.infra.db import now_plus, pages_by_key
from controlplane.kernel.texts import gettext_noop
from controlplane.kernel.texts import phrase as _
from scheduling.fleet.selectors.liveness import hosts_up
from servers.models import BuildRequest, HostNetworkState, Instance, Port
from servers.repair.domain.drift import Drift, DriftKind, drift_key

BEHIND_S = 60.0
"""So long a host may take for its networks before that is out of step."""
NAMED = 3
CARRIED = (NetworkBackendKind.BRIDGE.value, NetworkBackendKind.OVN.value)
"""A port in a network of the hypervisor's own is told to nobody."""


def ports_elsewhere() -> QuerySet[Port]:
    """Ports that are bound to another host than the one that their instance is on; `instance_host` is that one."""
    instances = Instance.objects.filter(pk=OuterRef("instance_uuid"), deleted_at__isnull=True)
    placed = Port.objects.filter(network__kind__in=CARRIED).annotate(
        instance_host=Subquery(instances.values("host")[:1])
    )
    return placed.filter(instance_host__isnull=False).exclude(instance_host=F("host"))


def ports_ownerless() -> QuerySet[Port]:
    """Ports of instances that are not there, and that nobody is about to make."""
    living = Instance.objects.filter(pk=OuterRef("instance_uuid"), deleted_at__isnull=True)
    asked = BuildRequest.objects.filter(instance_uuid=OuterRef("instance_uuid"))
    return Port.objects.filter(~Exists(living), ~Exists(asked), instance_uuid__isnull=False)


def network_drifts() -> Iterator[Drift]:
    """All of it, one after the other."""
    yield from _hosts()
    for port in (row for page in pages_by_key(ports_elsewhere()) for row in page):
        there = getattr(port, "instance_host", "")
        yield Drift(
            key=drift_key(DriftKind.PORT_ELSEWHERE, port.pk),
            kind=DriftKind.PORT_ELSEWHERE,
            subject=port.name or port.mac,
            found=_(
                "Port {port} is bound to {host}, and its instance is on {there}.",
                port=port.pk,
                host=port.host or _("no host"),
                there=there or _("no host"),
            ),
            evidence={"bound_to": port.host, "instance_on": there, "instance": str(port.instance_uuid)},
            heal=gettext_noop("Bind it to the host of its instance."),
            instance_id=port.instance_uuid,
            host=port.host or there,
        )
    for port in (row for page in pages_by_key(ports_ownerless()) for row in page):
        yield Drift(
            key=drift_key(DriftKind.PORT_OWNERLESS, port.pk),
            kind=DriftKind.PORT_OWNERLESS,
            subject=port.name or port.mac,
            found=_(
                "Port {port} belongs to instance {instance_uuid}, which is not there.",
                port=port.pk,
                instance_uuid=port.instance_uuid,
            ),
            evidence={"instance": str(port.instance_uuid), "addresses": port.addresses},
            heal=gettext_noop("Remove it if it was made for the instance, else give it back to its owner."),
            host=port.host,
        )


def _hosts() -> Iterator[Drift]:
    long_ago = Q(behind_since__isnull=True) | Q(behind_since__lt=now_plus(-BEHIND_S))
    late = Q(applied_revision__lt=F("wanted_revision")) & long_ago
    rows = list(HostNetworkState.objects.filter(late | ~Q(problems=[])))
    up = hosts_up() if rows else set()
    for row in rows:
        if row.problems:
            said = "; ".join(f"{each['kind']} {each['id']}: {each['message']}" for each in row.problems[:NAMED])
            more = _("; and {count} more", count=len(row.problems) - NAMED) if len(row.problems) > NAMED else ""
            yield Drift(
                key=drift_key(DriftKind.NETWORK_PROBLEM, row.host),
                kind=DriftKind.NETWORK_PROBLEM,
                subject=row.host,
                found=_(
                    "Host {host} could not do all of its networks: {said}{more}.", host=row.host, said=said, more=more
                ),
                evidence={"problems": row.problems},
                host=row.host,
            )
        if row.applied_revision < row.wanted_revision and not row.problems:
            is_up = row.host in up
            yield Drift(
                key=drift_key(DriftKind.NETWORKS_BEHIND, row.host),
                kind=DriftKind.NETWORKS_BEHIND,
                subject=row.host,
                found=(
                    _(
                        "Host {host} has its networks of revision {applied_revision} in force, and is to "
                        "have revision {wanted_revision}.",
                        host=row.host,
                        applied_revision=row.applied_revision,
                        wanted_revision=row.wanted_revision,
                    )
                ),
                evidence={"wanted": row.wanted_revision, "applied": row.applied_revision},
                heal=gettext_noop("Wake its agent again.") if is_up else "",
                obstacle=""
                if is_up
                else _("The agent of {host} is not heard of. It fetches them when it starts.", host=row.host),
                host=row.host,
            )
