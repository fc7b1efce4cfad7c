"""The late check of a server group's rule, on the host that was chosen.

The claims keep the rule (`scheduling.domain.request.group_counts`); this finds what came to be without them.
"""

from itertools import takewhile

from servers.catalog.domain.groups import GroupPolicy
from servers.models import Instance, ServerGroupMember
from servers.states import VmState


def group_refusal(instance: Instance) -> str:
    """Why the instance may not be on its host; empty when it may. Only the hard policies refuse.

    The members that came before decide, so of those that race one may always stay: who is past its build, then whoever
    was asked for first. It goes to the agent, so it names no host of the other members.
    """
    membership = ServerGroupMember.objects.select_related("group").filter(instance_uuid=instance.pk).first()
    if membership is None:
        return ""
    group = membership.group
    if group.policy not in (GroupPolicy.AFFINITY, GroupPolicy.ANTI_AFFINITY):
        return ""
    uuids = ServerGroupMember.objects.filter(group=group).values_list("instance_uuid", flat=True)
    members = Instance.objects.filter(pk__in=uuids, deleted_at__isnull=True).exclude(host="")
    placed = sorted(
        (one.vm_state == VmState.BUILDING, one.created_at, one.pk, one.host)
        for one in members.only("vm_state", "created_at", "host")
    )
    before = [host for _, _, _, host in takewhile(lambda one: one[2] != instance.pk, placed)]
    here = before.count(instance.host)
    if group.policy == GroupPolicy.ANTI_AFFINITY:
        limit = int(group.rules.get("max_server_per_host", 1))
        if here >= limit:
            return f"anti-affinity: {here} of at most {limit} members of group {group.name} are on this host"
    elif before and before[0] != instance.host:
        elsewhere = len(before) - here
        return f"affinity: {elsewhere} members of group {group.name} came before, and the first is on another host"
    return ""
