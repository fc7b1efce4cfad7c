"""Ports are where their instances are: bound in the transaction that gives an instance its host, and unbound in the one
in which a host has nothing of it any more.
"""

import uuid

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from computeagent.protocol.networks import NetworkBackendKind, PortStatus
from servers.models import HostNetworkState, Network, Port
from servers.networks.services.changes import networks_changed
from servers.networks.services.port_locks import ports_with_networks_lock


def instance_ports_bind(*, instance_uuid: uuid.UUID, host: str) -> None:
    """All ports of the instance are on this host from now on. In the caller's transaction; doing it twice is doing it
    once. A host that they were bound to before is to have them no more.
    """
    elsewhere = Port.objects.filter(instance_uuid=instance_uuid).exclude(host=host)
    held = ports_with_networks_lock(elsewhere)
    ports = dict(elsewhere.filter(pk__in=held).values_list("pk", "host")) if held else {}
    if not ports:
        return
    if former := [pk for pk, bound_to in ports.items() if bound_to]:
        networks_changed(ports=former)
    Port.objects.filter(pk__in=ports).update(host=host, status=PortStatus.DOWN, problem="", updated_at=Now())
    networks_changed(ports=ports)


def instance_ports_unbind(*, instance_uuid: uuid.UUID) -> None:
    """No host has the ports of the instance: they stay its own, with their addresses. In the caller's transaction."""
    bound = ports_with_networks_lock(Port.objects.filter(instance_uuid=instance_uuid).exclude(host=""))
    if bound:
        networks_changed(ports=bound)
        Port.objects.filter(pk__in=bound).update(host="", status=PortStatus.DOWN, problem="", updated_at=Now())


def host_address_changed(*, host: str) -> None:
    """Others reach the host by another address now: whoever has it as a peer is to know."""
    ports = Port.objects.filter(Q(host=host) | Q(router__host=host), network__kind=NetworkBackendKind.BRIDGE)
    networks = Network.objects.filter(pk__in=ports.order_by().values("network"))
    if found := list(networks.order_by().values_list("pk", flat=True)):
        with transaction.atomic():
            networks_changed(networks=found)


def host_networks_forget(*, host: str) -> None:
    """The host is removed: what it was to have and how far it was is known no more."""
    HostNetworkState.objects.filter(host=host).delete()
