"""Floating addresses in bulk jobs: they are given back."""

import uuid
from collections.abc import Mapping, Sequence

from django.http import QueryDict

from controlplane.identity.domain import Caller
from servers.bulk.things.thing import BulkThing, matching_rows
from servers.filtersets_network import FloatingIPFilterSet
from servers.models import BulkJob, BulkJobItem
from servers.networks.selectors.floating_ips import floating_ips_visible
from servers.networks.services.floating_ips import floating_ip_delete


def _names(caller: Caller, ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, str]:
    return dict(floating_ips_visible(caller=caller).filter(pk__in=ids).values_list("pk", "address"))


def _matching(caller: Caller, filters: QueryDict, _all_projects: bool, limit: int) -> list[uuid.UUID]:
    rows = floating_ips_visible(caller=caller).order_by("created_at", "pk")
    return matching_rows(FloatingIPFilterSet, rows, filters, limit)


def _ask(_job: BulkJob, item: BulkJobItem, caller: Caller) -> None:
    floating_ip_delete(caller=caller, floating_ip_id=item.subject)


FLOATING_IPS = BulkThing(_names, _matching, _ask)
