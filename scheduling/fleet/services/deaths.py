"""A host that went down, and one that came back, is told of: each once, however many conductors look, and killed at
whatever moment.

Invariant: `down_noted_at` changes in the transaction that writes the event, on a row that this transaction has locked.
"""

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from controlplane.work.hints import HOSTS, changed, host_topic
from scheduling.fleet.services.notifications import DOWN, UP, emit_service_liveness
from scheduling.models import ComputeNode, Service
from scheduling.models.liveness import up_condition


def service_deaths_note() -> int:
    """Write down, and emit, which services are down or up since the last look. Returns how many.

    One that never reported has not died. A few statements, however many hosts are concerned.
    """
    never_seen = {"last_seen_up__isnull": True}
    died = Service.objects.filter(down_noted_at__isnull=True).exclude(up_condition()).exclude(**never_seen)
    returned = Service.objects.filter(up_condition(), down_noted_at__isnull=False)
    return _note(died, DOWN) + _note(returned, UP)


def _note(rows: QuerySet[Service], event_type: str) -> int:
    if not rows.exists():  # nearly always: no lock, and no transaction
        return 0
    with transaction.atomic():
        # A row that a heartbeat or another conductor holds now is looked at the next time: nobody waits for anybody.
        found = list(rows.select_for_update(skip_locked=True).order_by("host", "binary"))
        if not found:
            return 0
        Service.objects.filter(pk__in=[one.pk for one in found]).update(
            down_noted_at=Now() if event_type == DOWN else None
        )
        hosts = [one.host for one in found]
        guests = ComputeNode.objects.filter(host__in=hosts).order_by().values_list("host", "running_guests")
        emit_service_liveness(event_type, found, running_guests=dict(guests))
        changed(HOSTS, *map(host_topic, hosts))
    return len(found)
