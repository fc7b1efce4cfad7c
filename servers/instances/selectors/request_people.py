"""Who asked: the people behind requests, for rows that only know the id of theirs."""

from collections.abc import Collection

from controlplane.audit_log.selectors import NO_REQUEST, askers_of
from controlplane.identity.selectors.people import user_names
from servers.models import InstanceAction


def people_of_requests(request_ids: Collection[str]) -> dict[str, str]:
    """{request: name}, from the audit log, and where it has nothing any more from the actions of instances; what the
    control plane began by itself is missing. Three queries at most.
    """
    found = askers_of(request_ids)
    rest = {one for one in request_ids if one and one != NO_REQUEST and one not in found}
    rows = InstanceAction.objects.filter(request_id__in=rest, user_id__isnull=False) if rest else ()
    users = {one.request_id: one.user_id for one in rows}
    names = user_names({one for one in users.values() if one})
    return found | {request: names[user] for request, user in users.items() if user in names}
