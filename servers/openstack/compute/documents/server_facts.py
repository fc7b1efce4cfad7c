"""All that documents of servers need beside the rows themselves, read for any number of servers at once."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from scheduling.fleet.selectors.liveness import host_statuses
from servers.instances.domain.bodies import SpecBody
from servers.instances.selectors.block_devices import InstanceDisk, instance_disks
from servers.instances.selectors.instances import instance_tags_read, latest_faults
from servers.instances.selectors.interfaces import Interface, instance_interfaces
from servers.instances.selectors.request_specs import requests_asked, zones_asked
from servers.models import Instance, InstanceFault
from servers.networks.selectors.groups import group_names_of_instances
from servers.openstack.compute.call import ComputeCall
from servers.states import api_status

HOST_STATUS_SINCE, PINNED_ZONE_SINCE, HINTS_SINCE = 16, 96, 100
FAULT_STATUSES = frozenset({"ERROR", "DELETED"})


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """By the id of the server; host statuses by host. `zones` are those that were asked for."""

    interfaces: Mapping[uuid.UUID, Sequence[Interface]] = field(default_factory=dict)
    disks: Mapping[uuid.UUID, Sequence[InstanceDisk]] = field(default_factory=dict)
    faults: Mapping[uuid.UUID, InstanceFault] = field(default_factory=dict)
    groups: Mapping[uuid.UUID, Sequence[str]] = field(default_factory=dict)
    zones: Mapping[uuid.UUID, str] = field(default_factory=dict)
    requests: Mapping[uuid.UUID, SpecBody] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)


def server_facts(call: ComputeCall, servers: Collection[Instance]) -> ServerFacts:
    """A constant number of queries: at most nine, and none for what the version does not show. The tags of each are
    read along where the rows were read without.
    """
    instance_tags_read(servers)
    ids = [one.pk for one in servers]
    failed = [one.pk for one in servers if api_status(one.vm_state, one.task_state) in FAULT_STATUSES]
    hosts = {one.host for one in servers if one.host}
    requests = requests_asked(ids) if ids and call.minor >= HINTS_SINCE else {}
    zones = {one: body.availability_zone for one, body in requests.items()}
    if ids and PINNED_ZONE_SINCE <= call.minor < HINTS_SINCE:
        zones = zones_asked(ids)
    return ServerFacts(
        interfaces=instance_interfaces(servers),
        disks=instance_disks(servers),
        faults=latest_faults(failed) if failed else {},
        groups=group_names_of_instances(ids) if ids else {},
        zones=zones,
        requests=requests,
        hosts=host_statuses(hosts) if hosts and call.caller.sees_all and call.minor >= HOST_STATUS_SINCE else {},
    )
