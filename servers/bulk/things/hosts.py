"""Hosts in bulk jobs: their compute service is enabled, or disabled with a note."""

import uuid
from collections.abc import Mapping, Sequence

from django.http import QueryDict

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from scheduling.filtersets import HostFilterSet
from scheduling.fleet.selectors.hosts import host_nodes, host_nodes_listed
from scheduling.fleet.services.service_states import service_disable, service_enable
from servers.bulk.things.thing import BulkThing, matching_rows
from servers.models import BulkJob, BulkJobItem


def _names(_caller: Caller, ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, str]:
    return dict(host_nodes().order_by().filter(pk__in=ids).values_list("pk", "host"))


def _matching(_caller: Caller, filters: QueryDict, _all_projects: bool, limit: int) -> list[uuid.UUID]:
    return matching_rows(HostFilterSet, host_nodes_listed(), filters, limit)


def _ask(job: BulkJob, item: BulkJobItem, caller: Caller) -> None:
    name = _names(caller, [item.subject]).get(item.subject)
    if name is None:
        raise NotFound(_("There is no host {item} any more.", item=item.name or item.subject))
    if job.action == "enable":
        service_enable(host=name)
    else:
        service_disable(host=name, reason=job.note or f"disabled by {caller.username}")


HOSTS = BulkThing(_names, _matching, _ask)
