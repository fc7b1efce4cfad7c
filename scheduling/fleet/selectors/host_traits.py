"""Hosts with what they say they can do, for what is placed on hosts and is no instance."""

from dataclasses import dataclass

from controlplane.infra.db import db_now
from scheduling.fleet.selectors.liveness import with_is_up
from scheduling.models import ComputeNode, Service


@dataclass(frozen=True, slots=True)
class HostTraits:
    """`silent_s`: seconds since the host was heard of, None for never; `traits` those that it reports itself."""

    host: str
    is_up: bool
    is_disabled: bool
    is_forced_down: bool
    silent_s: float | None
    traits: frozenset[str]


def hosts_traits() -> list[HostTraits]:
    """All hosts, by name. Three queries."""
    now, traits = db_now(), dict(ComputeNode.objects.order_by("pk").values_list("host", "traits"))
    return [
        HostTraits(
            host=service.host,
            is_up=bool(getattr(service, "is_up", False)),
            is_disabled=service.disabled,
            is_forced_down=service.forced_down,
            silent_s=None if service.last_seen_up is None else max(0.0, (now - service.last_seen_up).total_seconds()),
            traits=frozenset(traits.get(service.host, ())),
        )
        for service in with_is_up(Service.objects.filter(host__in=traits)).order_by("host")
    ]
