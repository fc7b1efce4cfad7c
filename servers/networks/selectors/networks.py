"""Reading networks: a project sees its own, those that are shared, and the external ones; admins see all."""

import uuid

from django.db.models import Q, QuerySet

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Forbidden
from controlplane.kernel.texts import phrase as _
from servers.models import Network
from servers.networks.domain.errors import NetworkNotFound

FOR_ALL = Q(is_shared=True) | Q(kind=NetworkBackendKind.HYPERVISOR, project=None)
"""Networks that the ports of all projects may be in: shared ones, and the installation's names for what hypervisors
have.
"""


def networks_visible(caller: Caller | None) -> QuerySet[Network]:
    """The networks that the caller may know of; all without a caller. Those of kind hypervisor are the installation's
    names for what hypervisors have: everybody may use them, as everybody always could.
    """
    if caller is None or caller.sees_all:
        return Network.objects.all()
    return Network.objects.filter(Q(project_id=caller.project_id) | Q(is_external=True) | FOR_ALL)


def network_get(*, caller: Caller | None, network_id: uuid.UUID) -> Network:
    """The network with this id. Raises NetworkNotFound."""
    network = networks_visible(caller).filter(pk=network_id).first()
    if network is None:
        raise NetworkNotFound(_("Network {network_id} does not exist.", network_id=network_id))
    return network


def sees_all(caller: Caller | None) -> bool:
    """Whether all projects are shown: to admins, and where the control plane itself asks, without a caller."""
    return caller is None or caller.sees_all


def owner_of(caller: Caller | None, project_id: uuid.UUID | None) -> uuid.UUID:
    """Whose a new thing is: the project that is named, else the caller's. Raises Forbidden where that is another one
    and the caller is no administrator.
    """
    if project_id is not None:
        if not sees_all(caller) and caller is not None and caller.own_project_id != project_id:
            raise Forbidden(_("Only administrators make things of other projects."), field="project")
        return project_id
    if caller is None:
        raise ValueError("Without a caller the project has to be named.")
    return caller.project_id


def owns_network(caller: Caller | None, network: Network) -> bool:
    """Whether it is for the caller to say how the network is; always without a caller."""
    return caller is None or caller.sees_all or network.project_id == caller.own_project_id


def may_have_ports(caller: Caller, network: Network) -> bool:
    """Whether the caller's project may have ports in it. Of an external network it has floating addresses only."""
    return owns_network(caller, network) or is_for_all(network)


def networks_taking_ports(caller: Caller) -> QuerySet[Network]:
    """Those that `may_have_ports` is true of."""
    rows = networks_visible(caller)
    return rows if caller.sees_all else rows.filter(Q(project_id=caller.own_project_id) | FOR_ALL)


def is_for_all(network: Network) -> bool:
    """What `FOR_ALL` says, of a row that is at hand."""
    return network.is_shared or (network.project_id is None and network.kind == NetworkBackendKind.HYPERVISOR.value)


def shows_subnets(caller: Caller, network: Network) -> bool:
    """Whether the caller sees the subnets of a network that he sees: of an external one only its owner does."""
    return owns_network(caller, network) or network.is_shared
