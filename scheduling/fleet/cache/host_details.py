"""What plug-ins may ask of the present fleet beyond the host table: instances, and the time of the last report.

Nothing is read before a plug-in asks; then all hosts are read at once, so that the number of queries does not grow with
the fleet. Instances belong to the app above, which says here how to read them.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from typing import Protocol

from scheduling.domain.hosts.host_details import HostDetails, HostInstance
from scheduling.models import ComputeNode

_NONE: Mapping[str, HostInstance] = {}


class InstanceSource(Protocol):
    """Reads instances, at most once, for one look at the fleet."""

    def by_host(self) -> Mapping[str, Mapping[str, HostInstance]]:
        """Every instance that has a host: by host, then by uuid."""


_SOURCES: list[Callable[[], InstanceSource]] = []


def instance_source_register(source: Callable[[], InstanceSource]) -> None:
    """Let `source` make what reads the instances. Called when the apps are ready; the last one counts."""
    _SOURCES[:] = [source]


class PresentDetails(HostDetails):
    """One for each look at the fleet: what was read first stands for the whole run."""

    def instances_on(self, host: str) -> Mapping[str, HostInstance]:
        """All instances of one host, by uuid."""
        return self._instances.get(host, _NONE)

    def updated(self, node_uuid: str) -> datetime | None:
        """The host's last heartbeat, by the database's clock."""
        return self._updated.get(node_uuid)

    @cached_property
    def _instances(self) -> Mapping[str, Mapping[str, HostInstance]]:
        return _SOURCES[0]().by_host() if _SOURCES else {}

    @cached_property
    def _updated(self) -> Mapping[str, datetime | None]:
        return {str(pk): seen for pk, seen in ComputeNode.objects.order_by().values_list("pk", "service__last_seen_up")}
