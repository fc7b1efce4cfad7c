"""The networks, ports and security groups that a request for instances names are looked up and judged here.

Sources: `nova.network.neutron.validate_networks` and what it raises; which of it is 400, 403 and 409 is Nova's.
"""

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.db.models import Exists, OuterRef, Q, QuerySet, Sum

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from controlplane.identity.selectors import quota_limits
from controlplane.infra.db import uuid_value
from controlplane.infra.prepared import PreparedQuery
from controlplane.kernel.errors import Conflict, Forbidden, InvalidFields, KilonovaError
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from servers.catalog.domain.quota import Shortfall
from servers.catalog.services.quota import shortfalls_refuse
from servers.fields import Problems, Reasons, problems_found
from servers.instances.domain.nics import (
    AUTO,
    NONE,
    NicsWanted,
    NicWanted,
    batch_nic_reasons,
    is_address_in,
    nics_parse,
    nics_that_fit,
)
from servers.instances.services.nic_groups import groups_found
from servers.models import BuildRequest, IPAllocation, Network, Port, Subnet
from servers.networks.domain.names import PortOwner
from servers.networks.domain.nics import NicAsked
from servers.networks.domain.ports import AddressRequest, PortRequest, privilege_problems, vnic_reasons
from servers.networks.domain.routing_errors import UnableToAutoAllocateNetwork
from servers.networks.selectors.networks import may_have_ports, networks_visible, owns_network
from servers.networks.selectors.quota import network_quota_usage
from servers.networks.services.topology import topology_ensure

EXTERNAL = "instances:create:attach_external_network"
HYPERVISOR = NetworkBackendKind.HYPERVISOR.value
NAMES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class NicsDecided:
    """What came of it. `group_ids` None: each port gets its project's default group. `names_default_group`: that group
    is one of several that are named, and does not exist yet.

    `has_default_network`: the guest, without any, gets a card in its hypervisor's own default network. `networks` and
    `ports` are those of `nics`, by id.
    """

    nics: tuple[NicAsked, ...] = ()
    group_ids: tuple[uuid.UUID, ...] | None = None
    names_default_group: bool = False
    has_default_network: bool = True
    networks: Mapping[uuid.UUID, Network] = field(default_factory=dict)
    ports: Mapping[uuid.UUID, Port] = field(default_factory=dict)

    @property
    def new_ports(self) -> int:
        """How many ports each instance needs that are not there yet, and that a quota counts."""
        return sum(1 for nic in self.nics if nic.is_counted)


@dataclass(frozen=True, slots=True)
class NicsFound:
    """What the request names: the decision, what is wrong by field (400), and the refusals that are 403 and 409.

    `is_address_wrong`: what is wrong are addresses that were asked for, and nothing else.
    """

    decided: NicsDecided
    problems: Problems
    refusals: tuple[KilonovaError, ...] = ()
    is_address_wrong: bool = False


def nics_found(caller: Caller, *, networks: object, security_groups: Sequence[str], count: int) -> NicsFound:
    """`networks` and `security_groups` as a request says them, for at most `count` instances. Five queries at most."""
    wanted, wrong = nics_parse(networks)
    wrong = wrong or batch_nic_reasons(wanted.nics, count)
    groups = groups_found(caller, security_groups)
    if wrong or groups.reasons:
        problems = problems_found({"networks": wrong, "security_groups": groups.reasons})
        return NicsFound(NicsDecided(), problems, groups.refusals, wanted.is_address_wrong)
    found = _named(caller, wanted.nics) if wanted.nics else _chosen(caller, wanted)
    problems = found.problems
    if not problems and security_groups and (reason := _groups_unused(found.decided)):
        problems = {"security_groups": [reason]}
    decided = replace(
        found.decided,
        # The default group alone is what ports get anyway.
        group_ids=groups.ids or None,
        has_default_network=found.decided.has_default_network and not found.decided.nics,
        names_default_group=groups.names_default and bool(groups.ids),
    )
    return NicsFound(decided, problems, (*found.refusals, *groups.refusals), found.is_address_wrong)


def _chosen(caller: Caller, wanted: NicsWanted) -> NicsFound:
    """The networks of a request that names none: the installation's default, else the only one that the project may
    use; where there is none, none, unless it says `auto` and the installation has networks.
    """
    if wanted.word == NONE:
        return NicsFound(NicsDecided(has_default_network=False), {})
    usable = _USABLE.run([uuid_value(caller.project_id)])
    if usable and (usable[0].is_default or len(usable) == 1):
        nic = NicAsked(usable[0].pk, kind=NetworkBackendKind(usable[0].kind))
        return NicsFound(NicsDecided((nic,), networks={usable[0].pk: usable[0]}), {})
    if usable:
        names = ", ".join(str(one) for one in usable[:NAMES_SHOWN]) + (" ..." if len(usable) > NAMES_SHOWN else "")
        refused = Conflict(
            _("Several networks are possible, and the request must say which: {names}.", names=names), field="networks"
        )
        return NicsFound(NicsDecided(), {}, (refused,))
    if wanted.word == AUTO and Network.objects.exists():
        reason = _(
            "There is no network that this project may use, and none is made by itself: make one, or ask for none."
        )
        return NicsFound(NicsDecided(), {"networks": [reason]})
    return NicsFound(NicsDecided(), {})


def needs_own_network(caller: Caller, networks: object) -> bool:
    """Whether the request says `auto`, and there is no network that the caller's project may use.

    Where there are no networks at all, it says no more than nothing: clients of OpenStack say it with each request.
    """
    return networks == AUTO and not networks_usable(caller).exists() and Network.objects.exists()


def own_network_make(caller: Caller) -> None:
    """Make the project its network, inside the transaction of the request. Raises InvalidFields with the reason."""
    try:
        topology_ensure(caller=caller)
    except UnableToAutoAllocateNetwork as error:
        raise InvalidFields({"networks": [error.message]}) from error


def networks_usable(caller: Caller) -> QuerySet[Network]:
    """The networks that an instance of the caller's project may get without naming them: its own, shared ones, and
    what hypervisors have; not external ones, nor those that could give it no address.
    """
    return _usable_in(caller.project_id)


def _usable_in(project_id: uuid.UUID) -> QuerySet[Network]:
    ours = Q(project_id=project_id) | Q(is_shared=True) | Q(kind=HYPERVISOR, project=None)
    gives_addresses = Q(kind=HYPERVISOR) | Exists(Subnet.objects.filter(network=OuterRef("pk")))
    # The default is an administrator's word, whatever else it is.
    return Network.objects.filter(Q(is_default=True) | (ours & gives_addresses & Q(is_external=False, is_enabled=True)))


_USABLE = PreparedQuery(
    "networks_usable",
    lambda project_id: _usable_in(project_id).order_by("-is_default", "name", "pk")[: NAMES_SHOWN + 1],
    types=["uuid"],
)


def _named(caller: Caller, nics: Sequence[NicWanted]) -> NicsFound:
    ports, no_ports, port_refusals = _ports_named(caller, [nic.port for nic in nics if nic.port])
    references = [nic.network for nic in nics if nic.network]
    networks, no_networks, network_refusals = _networks_named(
        caller, references, {port.network_id for port in ports.values() if port.network_id}
    )
    not_there = [*no_ports, *no_networks]
    if reasons := not_there or _address_reasons(caller, nics, networks):
        refusals = (*port_refusals, *network_refusals)
        return NicsFound(NicsDecided(), {"networks": reasons}, refusals, is_address_wrong=not not_there)
    asked = tuple(_asked(nic, ports, networks) for nic in nics)
    by_id = {network.pk: network for network in networks.values()}
    decided = NicsDecided(asked, networks=by_id, ports={port.pk: port for port in ports.values()})
    return NicsFound(decided, {}, (*port_refusals, *network_refusals))


def _asked(nic: NicWanted, ports: Mapping[str, Port], networks: Mapping[str, Network]) -> NicAsked:
    if nic.port:
        port = ports[nic.port]
        network = networks[str(port.network_id)]
        return NicAsked(network.pk, port.pk, "", nic.tag, NetworkBackendKind(network.kind))
    network = networks[nic.network]
    return NicAsked(network.pk, None, nic.fixed_ip, nic.tag, NetworkBackendKind(network.kind))


def _ports_named(
    caller: Caller, references: Sequence[str]
) -> tuple[dict[str, Port], Reasons, tuple[KilonovaError, ...]]:
    """The ports of the caller's project with these ids or names; PortNotFound, PortRequiresFixedIP, PortInUse."""
    if not references:
        return {}, [], ()
    ids = [pk for one in references if (pk := parse_uuid(one)) is not None]
    ours = Port.objects.select_related("network").filter(project_id=caller.project_id)
    rows = list(ours.filter(Q(pk__in=ids) | Q(name__in=references)))
    found: dict[str, Port] = {}
    reasons: Reasons = []
    refusals: list[KilonovaError] = []
    for reference in references:
        matches = [row for row in rows if str(row.pk) == reference] or [row for row in rows if row.name == reference]
        if not matches:
            reasons.append(_("There is no port {reference!r:.80}.", reference=reference))
        elif len(matches) > 1:
            words = _("{count} ports are named {reference!r:.80}: give an id.", count=len(matches), reference=reference)
            refusals.append(Conflict(words, field="networks"))
            found[reference] = matches[0]
        else:
            found[reference], network = matches[0], matches[0].network
            if network is not None:
                reasons += vnic_reasons(matches[0].vnic_type, network, network.physical_network)
            needs_address = network is None or network.kind != HYPERVISOR
            if needs_address and not matches[0].addresses:
                reasons.append(
                    _(
                        "Port {reference!r:.80} has no address; one without cannot be given to an instance.",
                        reference=reference,
                    )
                )
            if port_is_taken(matches[0]):
                refusals.append(port_in_use(matches[0]))
    if len({port.pk for port in found.values()}) < len(found) and not refusals:
        refusals.append(Conflict(_("One port is named twice."), field="networks"))
    return found, reasons, tuple(refusals)


def port_is_taken(port: Port) -> bool:
    """Whether something has it already."""
    return port.instance_uuid is not None or port.router_id is not None or port.owner != PortOwner.NOBODY


def port_in_use(port: Port) -> Conflict:
    """Nova's PortInUse."""
    owner = (
        _("instance {instance_uuid}", instance_uuid=port.instance_uuid)
        if port.instance_uuid
        else f"a {port.owner or 'router'}"
    )
    return Conflict(_("Port {port} is in use by {owner}.", port=port.name or port.pk, owner=owner), field="networks")


def _networks_named(
    caller: Caller, references: Sequence[str], ids_of_ports: Collection[uuid.UUID]
) -> tuple[dict[str, Network], Reasons, tuple[KilonovaError, ...]]:
    """The networks with these ids or names, and by id those of ports, whose owner may have made them where he will.

    NetworkNotFound, NetworkRequiresSubnet; NoUniqueMatch, ExternalNetworkAttachForbidden.
    """
    ids = [pk for one in references if (pk := parse_uuid(one)) is not None]
    visible = networks_visible(caller).filter(Q(pk__in=ids) | Q(name__in=references))
    has_subnets = Exists(Subnet.objects.filter(network=OuterRef("pk")))
    rows = list(visible.annotate(has_subnets=has_subnets)) if references else []
    found = {str(row.pk): row for row in Network.objects.filter(pk__in=ids_of_ports)} if ids_of_ports else {}
    reasons: Reasons = []
    refusals: list[KilonovaError] = []
    for reference in dict.fromkeys(references):
        matches = [row for row in rows if str(row.pk) == reference] or [row for row in rows if row.name == reference]
        if not matches:
            reasons.append(_("There is no network {reference!r:.80}.", reference=reference))
            continue
        found[reference] = network = matches[0]
        if len(matches) > 1:
            words = _(
                "{count} networks are named {reference!r:.80}: give an id.", count=len(matches), reference=reference
            )
            refusals.append(Conflict(words, field="networks"))
        elif network.is_external and not network.is_shared and not allows(caller, EXTERNAL):
            words = _(
                "{network} is an external network: only administrators may put instances into it directly.",
                network=network,
            )
            refusals.append(Forbidden(words, field="networks"))
        elif not may_have_ports(caller, network):
            reasons.append(_("There is no network {reference!r:.80}.", reference=reference))
        elif network.kind != HYPERVISOR and not network.has_subnets:
            reasons.append(_("Network {reference!r:.80} has no subnet, so it gives no address.", reference=reference))
    return found, reasons, tuple(refusals)


def _address_reasons(caller: Caller, nics: Sequence[NicWanted], networks: Mapping[str, Network]) -> Reasons:
    """FixedIpNotFoundForAddress, FixedIpAlreadyInUse, and Neutron's rule on who may choose."""
    asked = [(networks[nic.network], nic.fixed_ip) for nic in nics if nic.fixed_ip]
    if not asked:
        return []
    ids = {network.pk for network, _rest in asked}
    subnets = list(Subnet.objects.filter(network__in=ids))
    taken = IPAllocation.objects.filter(network__in=ids, address__in={address for _rest, address in asked})
    in_use = set(taken.values_list("network_id", "address"))
    reasons: Reasons = []
    for network, address in asked:
        here = [subnet for subnet in subnets if subnet.network_id == network.pk]
        if network.kind == HYPERVISOR:
            words = _("{network} is the hypervisor's own network, which gives addresses by itself.", network=network)
            reasons.append(words)
        elif is_address_in(address, [subnet.cidr for subnet in here if subnet.is_automatic]):
            reasons.append(_("{address} cannot be chosen: it follows from a MAC address.", address=address))
        elif not is_address_in(address, [subnet.cidr for subnet in here]):
            ranges = ", ".join(subnet.cidr for subnet in here)
            reasons.append(
                _(
                    "{address} is in no subnet of network {network} ({ranges}).",
                    address=address,
                    network=network,
                    ranges=ranges,
                )
            )
        elif (network.pk, address) in in_use or any(address == subnet.metadata_address for subnet in here):
            reasons.append(_("{address} is in use in network {network}.", address=address, network=network))
        else:
            asked_for = PortRequest(network.pk, caller.project_id, fixed=(AddressRequest(address=address),))
            refused = privilege_problems(
                asked_for,
                is_network_owner=owns_network(caller, network),
                has_network_security=network.has_port_security,
            )
            reasons += [reason for found in refused.values() for reason in found]
    return reasons


def _groups_unused(decided: NicsDecided) -> str:
    """Why security groups that are named would be on no port, or could not be kept."""
    made = [decided.networks[nic.network_id] for nic in decided.nics if nic.port_id is None]
    if not decided.nics:
        return _("The instance gets no network, so that it has no use for security groups.")
    if not made:
        return _("Ports that are given have security groups of their own; change those.")
    for network in made:
        if network.kind == HYPERVISOR:
            return _("{network} is the hypervisor's own network, which keeps no security groups.", network=network)
        if not network.has_port_security:
            return _(
                "Network {network} is without port security, so that no security group applies in it.", network=network
            )
    return ""


def port_count_allowed(*, project_id: uuid.UUID, each: int, min_count: int, max_count: int) -> int:
    """For how many instances the project's quota of ports suffices, max_count or fewer, as in Nova. Ports that others
    wait for who have no host yet are counted too. Raises QuotaExceeded (PortLimitExceeded) where not for min_count.
    """
    if not each:
        return max_count
    limit = quota_limits(project_id=project_id).ports
    made = network_quota_usage(project_id=project_id, names=["ports"])["ports"]
    awaited = BuildRequest.objects.filter(project_id=project_id).aggregate(ports=Sum("ports", default=0))["ports"]
    fits = nics_that_fit(wanted=max_count, each=each, used=made + awaited, limit=limit)
    if fits < min_count:
        shortfalls_refuse([Shortfall("ports", each * min_count, made + awaited, limit)])
    return fits
