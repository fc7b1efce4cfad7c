"""Ports of instances that are about to be built: made when their hosts are known, all of a batch in one go."""

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.kernel.errors import KilonovaError
from servers.conf import server_options
from servers.instances.domain.bodies import SpecBody
from servers.models import BuildRequest, Instance, Network, Port
from servers.networks.domain.nics import InstanceNics, NicAsked
from servers.networks.services.instance_ports import instance_ports_allocate


def ports_of_builds(
    requests: Sequence[BuildRequest], specs: Mapping[uuid.UUID, SpecBody], hosts: Mapping[uuid.UUID, str]
) -> dict[uuid.UUID, KilonovaError]:
    """Their ports, bound to their hosts. Returns why some instances got none: those must not be built."""
    wanted = [
        InstanceNics(
            request.instance_uuid,
            request.project_id,
            hosts[request.instance_uuid],
            _nics(specs[request.reservation_id]),
            specs[request.reservation_id].security_groups,
        )
        for request in requests
    ]
    wanted = [one for one in wanted if one.nics]
    return instance_ports_allocate(wanted) if wanted else {}


def _nics(spec: SpecBody) -> tuple[NicAsked, ...]:
    if spec.nics is not None:
        return spec.nics
    network = Network.objects.filter(is_default=True).first()
    return () if network is None else (NicAsked(network.pk, kind=NetworkBackendKind(network.kind)),)


def access_addresses_set(instances: Sequence[Instance]) -> None:
    """As Nova's default_access_ip_network_name: the address by which an instance is reached is the one that it has in
    the network of this name, unless its owner named one.
    """
    name = server_options().default_access_ip_network_name
    if not name or not instances:
        return
    found: dict[uuid.UUID, list[str]] = defaultdict(list)
    ports = Port.objects.filter(instance_uuid__in=[one.pk for one in instances], network_name=name).order_by("position")
    for instance_uuid, addresses in ports.values_list("instance_uuid", "addresses"):
        if instance_uuid is not None:
            found[instance_uuid] += addresses
    for instance in instances:
        if instance.access_ip_v4 or instance.access_ip_v6:
            continue
        own = found[instance.pk]
        instance.access_ip_v4 = next((one for one in own if ":" not in one), "")
        instance.access_ip_v6 = next((one for one in own if ":" in one), "")
