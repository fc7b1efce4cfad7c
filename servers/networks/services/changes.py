"""Telling hosts that what they are to have of networks changed: a revision of each host that grows, and a wake-up.

The revision is the truth, and is raised in the transaction of the change; the wake-up is a hint. What OVN has to be
told is noted beside it.
"""

from collections.abc import Collection
from uuid import UUID

from django.db.models import Q

from computeagent.protocol.networks import NetworkBackendKind
from computeagent.protocol.work import HostWakeupKind
from controlplane.infra.db import now_sql, rows_run
from controlplane.work.wakeups import wakeups_send
from controlplane.work.work import compute_queue
from servers.models import Network, Port, PortGroup, Router, SecurityGroup, SecurityGroupRule
from servers.networks.services.ovn_changes import ovn_changes_note

NETWORKS_WAKEUP = HostWakeupKind.NETWORKS.value
"""The code of a wake-up that says: fetch what this host is to have of networks."""
BRIDGE, OVN = NetworkBackendKind.BRIDGE.value, NetworkBackendKind.OVN.value

# In the order of the rows: two that raise the same hosts do not wait for each other in a ring.
_RAISE = """
INSERT INTO servers_hostnetworkstate (host, wanted_revision, applied_revision, problems, behind_since)
{rows}
ON CONFLICT (host) DO UPDATE SET
    wanted_revision = servers_hostnetworkstate.wanted_revision + 1,
    behind_since = CASE
        WHEN servers_hostnetworkstate.applied_revision < servers_hostnetworkstate.wanted_revision
        THEN servers_hostnetworkstate.behind_since ELSE excluded.behind_since
    END
"""


def networks_changed(
    *,
    networks: Collection[UUID] = (),
    ports: Collection[UUID] = (),
    groups: Collection[UUID] = (),
    routers: Collection[UUID] = (),
    hosts: Collection[str] = (),
    groups_left: Collection[UUID] = (),
) -> None:
    """Raise the wanted revision of each host that these rows concern, and wake it. In a constant number of statements.

    Called inside the transaction of the change, once, for all that it changes: after it where rows come or change,
    before it where they go or leave their host. What no row leads to is named: a former host in `hosts`, a group that
    ports left in `groups_left`. What concerns whom:

    - a network: hosts that have ports or routers in it;
    - a port: its host; the host of its router, and of the router that has its floating address; those that have a rule
      which names one of its groups as remote; and, where it is its host's only port in the network, the others there,
      whose peer that host becomes or ceases to be;
    - a group: hosts of its ports, and those that have a rule which names it as remote; one that ports left: the latter;
    - a router: its host, and the hosts in the networks of its legs, whose peer that host is.
    """
    ovn_changes_note(networks=networks, ports=ports, groups={*groups, *groups_left}, routers=routers)
    networks, ports, groups, routers = set(networks), set(ports), set(groups), set(routers)
    concerned = {host for host in hosts if host}
    places: set[tuple[UUID, str]] = set()
    groups_of_ports = set(groups_left)
    routers_of_ports: set[UUID] = set()
    if ports:
        found = Port.objects.filter(pk__in=ports, network__kind__in=(BRIDGE, OVN))
        rows = list(found.values_list("pk", "network_id", "network__kind", "host"))
        concerned.update(host for *_, host in rows if host)
        bridged = {pk for pk, _, kind, _ in rows if kind == BRIDGE}
        places.update((network, host) for _, network, kind, host in rows if kind == BRIDGE and host)
        if bridged:
            groups_of_ports.update(PortGroup.objects.filter(port__in=bridged).values_list("group_id", flat=True))
            theirs = Router.objects.filter(Q(ports__in=bridged) | Q(floating_ips__port__in=bridged))
            routers_of_ports.update(theirs.values_list("pk", flat=True))
    if groups or groups_of_ports:
        groups_lock(groups | groups_of_ports)
    if routers:
        networks.update(Port.objects.filter(router__in=routers).values_list("network_id", flat=True))
    if networks or places:
        _networks_lock(networks | {network for network, _ in places})
        networks |= _networks_of_new_peers(places, but=ports)
    if networks:
        of_network = Port.objects.filter(network__in=networks, network__kind__in=(BRIDGE, OVN)).exclude(host="")
        concerned.update(of_network.order_by().values_list("host", flat=True).distinct())
    if groups or groups_of_ports:
        concerned.update(_hosts_of_groups(groups, groups_of_ports))
    if networks or routers or routers_of_ports:
        there = Q(pk__in=routers | routers_of_ports) | Q(ports__network__in=networks)
        concerned.update(
            Router.objects.filter(there).exclude(host="").order_by().values_list("host", flat=True).distinct()
        )
    if concerned:
        tail = f", 1, 0, '[]', {now_sql()}"
        rows_run(_RAISE, [(host,) for host in sorted(concerned)], types=["text"], tail=tail, has_result=False)
        wakeups_send((compute_queue(host), NETWORKS_WAKEUP, "") for host in concerned)


def groups_lock(groups: Collection[UUID]) -> None:
    """Lock these groups and those that their rules name, in the order of their ids, until the transaction ends.

    One transaction brings a member into a group, another one a host that has a rule about it: neither would see the
    other's. So the second looks after the end of the first. Hosts fetch all now and then, whatever was missed.
    """
    named = SecurityGroupRule.objects.filter(group__in=groups, remote_group__isnull=False)
    rows = SecurityGroup.objects.filter(Q(pk__in=groups) | Q(pk__in=named.values("remote_group")))
    list(rows.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))


def _networks_lock(networks: set[UUID]) -> None:
    """The same for two hosts that come into one network, and are to be each other's peers."""
    rows = Network.objects.filter(pk__in=networks, kind=BRIDGE)
    list(rows.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))


def _networks_of_new_peers(places: set[tuple[UUID, str]], *, but: set[UUID]) -> set[UUID]:
    """Of networks with hosts, those in which one of these hosts has no other port than the ones that change."""
    if not places:
        return set()
    beside = Port.objects.filter(network__in={network for network, _ in places}, host__in={host for _, host in places})
    known = set(beside.exclude(pk__in=but).order_by().values_list("network_id", "host").distinct())
    return {network for network, _ in places - known}


def _hosts_of_groups(groups: set[UUID], groups_of_ports: set[UUID]) -> set[str]:
    """Hosts with ports in these groups; of groups that ports are in, only hosts with rules that name them."""
    names_them = Q(group__rules__remote_group__in=groups | groups_of_ports)
    rows = PortGroup.objects.filter(Q(group__in=groups) | names_them, port__network__kind=BRIDGE)
    return set(rows.exclude(port__host="").order_by().values_list("port__host", flat=True).distinct())
