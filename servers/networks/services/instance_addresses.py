"""Addresses of an instance beside those that its ports were made with (Nova's addFixedIp and removeFixedIp).

A port keeps its card; who adds an address tells the guest of it, as with Nova: DHCP gives a card the first one alone.
"""

import uuid
from collections.abc import Sequence

from controlplane.audit_log.recording.audited import audited
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Conflict, Invalid, KilonovaError
from controlplane.kernel.texts import phrase as _
from servers.models import Instance, IPAllocation, Port, Subnet
from servers.networks.domain.errors import FixedAddressNotFound, NetworkNotFound
from servers.networks.domain.ports import MAX_FIXED_ADDRESSES, AddressRequest, address_canonical, address_reasons
from servers.networks.services.port_changes import port_update
from servers.networks.services.port_locks import ports_with_networks_lock


@audited("instance.fixed_address_add", Instance, by="instance_uuid", also=("network_id",))
def instance_address_add(*, instance_uuid: uuid.UUID, network_id: uuid.UUID) -> str:
    """Give a port of the instance one more address of this network: of the oldest subnet that has one left, on the
    first port that has room for it. Returns the address.

    Raises NetworkNotFound where the instance has no port in a network of this id that has subnets, Conflict where each
    of its ports there has all that a port may have, and what allocation raises where no address is left.
    """
    return in_transaction(lambda: _added(instance_uuid, network_id))


def _added(instance_uuid: uuid.UUID, network_id: uuid.UUID) -> str:
    theirs = Port.objects.filter(instance_uuid=instance_uuid, network=network_id)
    held = ports_with_networks_lock(theirs)
    ports = list(theirs.filter(pk__in=held).order_by("position", "pk"))
    rows = Subnet.objects.filter(network=network_id).order_by("created_at", "pk")
    subnets = [one for one in rows if not one.is_automatic]
    if not ports or not subnets:
        raise NetworkNotFound(
            _(
                "Instance {instance_uuid} has no port in a network {network_id} that has subnets.",
                instance_uuid=instance_uuid,
                network_id=network_id,
            )
        )
    words = _(
        "Each port that instance {instance_uuid} has in the network has {max_fixed_addresses} addresses already.",
        instance_uuid=instance_uuid,
        max_fixed_addresses=MAX_FIXED_ADDRESSES,
    )
    refused: KilonovaError = Conflict(words)
    for port in ports:
        own = _addresses(port)
        if len(own) >= MAX_FIXED_ADDRESSES:
            continue
        for subnet in subnets:
            try:
                now = _changed(port, [*own, AddressRequest(subnet.pk)]).addresses
                return next(str(one) for one in now if one not in {each.address for each in own})
            except (Conflict, Invalid) as error:
                refused = error
    raise refused


@audited("instance.fixed_address_remove", Instance, by="instance_uuid", also=("address",))
def instance_address_remove(*, instance_uuid: uuid.UUID, address: str) -> None:
    """Take an address from the port of the instance that has it.

    Raises FixedAddressNotFound; PortInUse while a floating address stands for it.
    """
    if address_reasons(address):
        raise FixedAddressNotFound(
            _("{address:.60} is no address of instance {instance_uuid}.", address=address, instance_uuid=instance_uuid)
        )
    in_transaction(lambda: _removed(instance_uuid, address_canonical(address)))


def _removed(instance_uuid: uuid.UUID, address: str) -> None:
    theirs = Port.objects.filter(instance_uuid=instance_uuid)
    held = ports_with_networks_lock(theirs)
    port = theirs.filter(pk__in=held, allocations__address=address).order_by("position", "pk").first()
    if port is None:
        raise FixedAddressNotFound(
            _("{address} is no address of instance {instance_uuid}.", address=address, instance_uuid=instance_uuid)
        )
    if IPAllocation.objects.get(port=port, address=address).subnet.is_automatic:
        raise Conflict(_("{address} follows from the MAC address of its port, and goes with it.", address=address))
    _changed(port, [one for one in _addresses(port) if one.address != address])


def _addresses(port: Port) -> list[AddressRequest]:
    rows = IPAllocation.objects.filter(port=port).order_by("pk")
    return [AddressRequest(subnet, address) for subnet, address in rows.values_list("subnet_id", "address")]


def _changed(port: Port, wanted: Sequence[AddressRequest]) -> Port:
    """As the control plane, not as the caller: in a network of somebody else he may not choose addresses, and here he
    chooses none; those that stay are the port's own.
    """
    return port_update(caller=None, port_id=port.pk, changes={"fixed": tuple(wanted)})
