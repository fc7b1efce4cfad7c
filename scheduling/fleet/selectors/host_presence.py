"""Whether a host is there at all, in whichever of the fleet's tables, and what was said of it."""

from dataclasses import dataclass
from uuid import UUID

from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from scheduling.fleet.selectors.liveness import with_is_up
from scheduling.models import AggregateHost, ComputeNode, HostMapping, Service


@dataclass(frozen=True, slots=True)
class HostPresence:
    """A host by its service; one that left only a node or a mapping behind is down and disabled."""

    host: str
    service_id: UUID | None
    is_up: bool
    is_disabled: bool
    is_forced_down: bool
    compute_node_uuids: tuple[UUID, ...]
    aggregates: tuple[str, ...]


def host_presence(*, host: str) -> HostPresence:
    """Four queries. Raises NotFound when no table knows the host."""
    # PostgreSQL refuses a NUL in text; no host has one in its name.
    if "\0" in host:
        raise NotFound(_("There is no host of this name."), field="host")
    service = with_is_up(Service.objects.filter(host=host)).first()
    nodes = tuple(ComputeNode.objects.filter(host=host).order_by("pk").values_list("pk", flat=True))
    if service is None and not nodes and not HostMapping.objects.filter(host=host).exists():
        raise NotFound(_("There is no host {host}.", host=host), field="host")
    members = AggregateHost.objects.filter(host=host).order_by("aggregate__name")
    return HostPresence(
        host=host,
        service_id=None if service is None else service.pk,
        is_up=service is not None and bool(getattr(service, "is_up", False)),
        is_disabled=service is None or service.disabled,
        is_forced_down=service is not None and service.forced_down,
        compute_node_uuids=nodes,
        aggregates=tuple(members.values_list("aggregate__name", flat=True)),
    )
