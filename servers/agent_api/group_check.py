"""The late check of a server group's rule, on the host that was chosen: what a race in between may have broken."""

from servers.catalog.domain.groups import GroupPolicy
from servers.models import Instance, ServerGroupMember


def group_refusal(instance: Instance) -> str:
    """Why the instance may not be on its host; empty when it may. Only the hard policies refuse.

    It goes to the agent, so it names no host of the other members.
    """
    membership = ServerGroupMember.objects.select_related("group").filter(instance_uuid=instance.pk).first()
    if membership is None:
        return ""
    group = membership.group
    uuids = ServerGroupMember.objects.filter(group=group).exclude(instance_uuid=instance.pk)
    others = Instance.objects.filter(
        pk__in=uuids.values_list("instance_uuid", flat=True), deleted_at__isnull=True
    ).exclude(host="")
    if group.policy == GroupPolicy.ANTI_AFFINITY:
        limit = int(group.rules.get("max_server_per_host", 1))
        here = others.filter(host=instance.host).count()
        if here >= limit:
            return f"anti-affinity: {here} of at most {limit} members of group {group.name} are on this host"
    if group.policy == GroupPolicy.AFFINITY:
        elsewhere = others.exclude(host=instance.host).count()
        if elsewhere and not others.filter(host=instance.host).exists():
            return f"affinity: {elsewhere} members of group {group.name} are elsewhere, none is on this host"
    return ""
