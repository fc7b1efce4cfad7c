"""This module compares the zones that instances have and asked for with those of their hosts."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from scheduling.fleet.selectors.hosts import nodes_of_hosts
from scheduling.fleet.selectors.zones import zones_by_host
from scheduling.policies.selectors.policies import policy_active
from servers.instances.selectors.request_specs import requests_asked
from servers.models import Instance

INVARIANT = 1


class ZoneFault(NamedTuple):
    """Which invariant, of which instance, in a sentence, with the zones."""

    invariant: int
    subject: str
    message: str
    evidence: dict[str, Any]


def zone_faults(instances: Sequence[Instance]) -> Iterator[ZoneFault]:
    """Instances that are in another zone than their host, or than they asked for. Changes nothing.

    One on a host that is not registered is named elsewhere; one whose host was forced got past its zone.
    """
    hosts = {one.host for one in instances if one.host}
    registered = {host for host, _ in nodes_of_hosts(hosts)}
    zones, default = zones_by_host(hosts=hosts), policy_active().options.default_availability_zone
    there = [one for one in instances if one.host in registered]
    asked = requests_asked([one.pk for one in there])
    for one in there:
        zone, spec = zones.get(one.host, default), asked.get(one.pk)
        wanted = "" if spec is None or spec.is_host_forced else spec.availability_zone
        if zone == one.availability_zone and wanted in ("", zone):
            continue
        mine = one.availability_zone or "-"
        message = f"is in zone {mine}" + (f", and its host {one.host} is in {zone}" if zone != mine else "")
        if wanted not in ("", zone):
            message += f", and was asked for in {wanted}"
        evidence = {"host": one.host, "zone": one.availability_zone, "host_zone": zone, "asked_for": wanted}
        yield ZoneFault(INVARIANT, str(one.pk), message, evidence)
