"""The verbs by which an agent has its host, and tells how it is."""

import uuid
from collections.abc import Collection
from dataclasses import replace

from django.db import transaction

from computeagent.protocol.hosts import HostMeasures, HostReport, HostUsage, Registration
from scheduling.fleet.selectors.host_addresses import host_addresses
from scheduling.fleet.services.heartbeats import service_heartbeat, service_seen_lately
from scheduling.fleet.services.hosts import host_register, host_usage_report
from scheduling.fleet.services.measures_store import host_measures_store
from servers.agent_api.host_ownership import host_ownership, host_ownership_claim, host_ownership_keep
from servers.agent_api.leases import reaching
from servers.agent_api.reached import OwnedHost
from servers.instances.services.adoption import instances_adopt
from servers.networks.services.bindings import host_address_changed
from servers.volumes.services.pools import pools_offer, pools_report


class HostReportVerbs(OwnedHost):
    """See `computeagent.protocol.conductor.Conductor`."""

    @reaching
    def host_own(self, *, host: str, agent_id: str, guests: Collection[str]) -> None:
        """See Conductor. One that was never told whose agent it serves (tests do without) demands nothing."""
        self._ownership = host_ownership(host=host, agent_id=agent_id)
        host_ownership_claim(host=host, agent_id=agent_id, guests={uuid.UUID(guest) for guest in guests})

    @reaching
    def register(self, *, host: str, report: HostReport) -> Registration:
        """See Conductor."""
        with self._owned(host), transaction.atomic():
            known = host_addresses([host]).get(host, report.host_ip)
            pools = pools_report(host=host, reports=report.pools)
            registration = host_register(host=host, report=replace(report, traits=(*report.traits, *sorted(pools))))
            pools_offer(host=host, compute_node_uuid=uuid.UUID(registration.compute_node_uuid))
            if known != report.host_ip:
                host_address_changed(host=host)
            # Of a host that was removed with instances on it and comes back, these are on its new node.
            instances_adopt(host=host, compute_node_uuid=uuid.UUID(registration.compute_node_uuid))
            return registration

    @reaching
    def heartbeat(self, *, host: str) -> Registration:
        """See Conductor."""
        if self._ownership is not None:
            if (seen := service_seen_lately(host=host, ownership=self._ownership)) is not None:
                return seen
            host_ownership_keep(host=host, ownership=self._ownership)
        return service_heartbeat(host=host)

    @reaching
    def measures(self, *, host: str, measures: HostMeasures) -> None:
        """See Conductor."""
        with self._owned(host), transaction.atomic():
            host_measures_store(host=host, measures=measures)
            if measures.pools:
                pools_report(host=host, reports=measures.pools)

    @reaching
    def usage(self, *, host: str, usage: HostUsage) -> None:
        """See Conductor."""
        host_usage_report(host=host, usage=usage, ownership=self._ownership)
