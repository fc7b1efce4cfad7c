"""What a network may be: pure rules."""

import uuid
from dataclasses import dataclass, field

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.kernel.texts import phrase as _
from servers.fields import Problems, Reasons, name_reasons, problems_found, text_reasons, whole_number_reasons

MIN_MTU = 68
"""RFC 791: what each network must carry of IPv4."""
MIN_MTU_IPV6 = 1280
"""RFC 8200: what each network must carry of IPv6."""
ENCAPSULATION = {NetworkBackendKind.BRIDGE: 50, NetworkBackendKind.OVN: 58}
"""Bytes that a tunnel takes of each packet over IPv4: VXLAN, Geneve as OVN uses it."""


@dataclass(frozen=True, slots=True)
class NetworkRequest:
    """A network that is wanted. `project_id` None: the installation's. `mtu` None: what the underlay lets through.

    `kind` None: what the installation makes for projects. `hypervisor_network` belongs to kind HYPERVISOR,
    `physical_network` to the others.
    """

    project_id: uuid.UUID | None
    name: str = ""
    id: uuid.UUID = field(default_factory=uuid.uuid4)
    description: str = ""
    kind: NetworkBackendKind | None = None
    hypervisor_network: str = ""
    physical_network: str = ""
    mtu: int | None = None
    is_shared: bool = False
    is_external: bool = False
    is_default: bool = False
    has_port_security: bool = True
    is_enabled: bool = True

    @property
    def is_usual(self) -> bool:
        """Whether it asks for nothing that is the business of administrators."""
        asks = (self.hypervisor_network, self.physical_network, self.is_shared, self.is_external, self.is_default)
        return self.kind is None and not any(asks)


def mtu_limit(*, kind: NetworkBackendKind, is_physical: bool, underlay_mtu: int) -> int:
    """The most that packets of guests may have: what is below carries them whole, in a tunnel or as they are."""
    return underlay_mtu if is_physical else underlay_mtu - ENCAPSULATION.get(kind, 0)


def mtu_reasons(mtu: object, *, limit: int, has_ipv6: bool) -> Reasons:
    """From what the IP versions need to what is below."""
    reasons = whole_number_reasons(mtu, minimum=MIN_MTU, maximum=limit)
    if not reasons and has_ipv6 and isinstance(mtu, int) and mtu < MIN_MTU_IPV6:
        reasons = [
            _(
                "Is {mtu}; a network with an IPv6 subnet needs at least {min_mtu_ipv6}.",
                mtu=mtu,
                min_mtu_ipv6=MIN_MTU_IPV6,
            )
        ]
    return reasons


def network_problems(request: NetworkRequest, *, kind: NetworkBackendKind, underlay_mtu: int) -> Problems:
    """What is wrong with a network on its own, by field. One of kind HYPERVISOR is only a name for the hypervisors'."""
    of_hypervisor = kind is NetworkBackendKind.HYPERVISOR
    limit = mtu_limit(kind=kind, is_physical=bool(request.physical_network), underlay_mtu=underlay_mtu)
    unused = _("Belongs to networks of kind {kind} only.", kind="hypervisor")
    return problems_found(
        {
            "name": network_name_reasons(request.name, is_of_installation=request.project_id is None),
            "description": text_reasons(request.description, maximum=255),
            "hypervisor_network": name_reasons(request.hypervisor_network)
            if of_hypervisor
            else [unused] * bool(request.hypervisor_network),
            "physical_network": physical_network_reasons(request, of_hypervisor=of_hypervisor),
            "mtu": [] if request.mtu is None else mtu_reasons(request.mtu, limit=limit, has_ipv6=False),
            "is_external": [_("A network of the hypervisors has no routers.")]
            * (of_hypervisor and request.is_external),
            "is_default": default_reasons(kind=kind, is_shared=request.is_shared, is_default=request.is_default),
        }
    )


def network_name_reasons(name: object, *, is_of_installation: bool) -> Reasons:
    """Those of projects may go without one, as in Neutron."""
    if not name and not is_of_installation:
        return []
    return name_reasons(name)


def physical_network_reasons(request: NetworkRequest, *, of_hypervisor: bool) -> Reasons:
    """The name that hosts map to a bridge; an external network has one, for it is outside."""
    if request.physical_network:
        if of_hypervisor:
            return [_("Belongs to networks of kind bridge and ovn only.")]
        return name_reasons(request.physical_network, maximum=64)
    is_missing = request.is_external and not of_hypervisor
    return [_("An external network needs the name of what it is outside.")] if is_missing else []


def default_reasons(*, kind: NetworkBackendKind, is_shared: bool, is_default: bool) -> Reasons:
    """What all projects get, all of them must be able to have ports in."""
    if is_default and not is_shared and kind is not NetworkBackendKind.HYPERVISOR:
        return [_("The network that instances get who ask for none must be shared.")]
    return []


def segment_search(first: int, last: int, start: int) -> list[tuple[int, int]]:
    """The range of segments in the order in which it is searched: from `start` on, then what is before it."""
    return [(start, last), (first, start - 1)] if start > first else [(first, last)]
