"""Groups that a hint alone makes, as before server groups had policies of their own. Source: Nova until 2014.2.

Only while the active policy has one of the legacy group filters: the hint `group` may then hold any name, and all
instances of the project that were created with that name are one group of policy `legacy`.
"""

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Invalid
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from scheduling.filters import legacy_groups
from scheduling.policies.selectors.policies import policy_active
from servers.catalog.services.server_group import server_group_quota_check
from servers.fields import name_reasons
from servers.models import ServerGroup

FILTERS = frozenset({legacy_groups.GroupAffinityFilter.__name__, legacy_groups.GroupAntiAffinityFilter.__name__})


def legacy_group_hinted(*, caller: Caller, name: str) -> ServerGroup | None:
    """The caller's project's group of that name, not stored yet where nobody has used the name before.

    None where the policy has no legacy group filter, or the text is an id. Raises Invalid for what is no name.
    """
    if parse_uuid(name) is not None or FILTERS.isdisjoint(policy_active().filters):
        return None
    reasons = name_reasons(name)
    if reasons:
        raise Invalid(_("The group's name: {reasons}", reasons=reasons[0]), field="hints")
    return _stored(caller, name) or ServerGroup(
        name=name, policy=legacy_groups.POLICY, project_id=caller.project_id, user_id=caller.user_id
    )


def legacy_group_store(*, caller: Caller, group: ServerGroup) -> ServerGroup:
    """The group as it is stored, which is done now if need be, under the project's quota lock. Raises QuotaExceeded."""
    if group.policy != legacy_groups.POLICY or not group._state.adding:
        return group
    found = _stored(caller, group.name)
    if found is None:
        server_group_quota_check(project_id=caller.project_id, user_id=caller.user_id)
        group.save(force_insert=True)
    return found or group


def _stored(caller: Caller, name: str) -> ServerGroup | None:
    rows = ServerGroup.objects.filter(project_id=caller.project_id, name=name, policy=legacy_groups.POLICY)
    return rows.order_by("created_at", "id").first()
