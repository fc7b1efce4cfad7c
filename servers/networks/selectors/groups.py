"""Reading security groups and their rules: those of the caller's project; all for an admin."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from django.db.models import F, QuerySet

from controlplane.identity.domain import Caller
from controlplane.infra.among import uuids_value
from controlplane.infra.prepared import PreparedQuery
from controlplane.kernel.texts import Translate, in_english
from controlplane.kernel.texts import phrase as _
from servers.models import PortGroup, SecurityGroup, SecurityGroupRule
from servers.networks.domain.errors import SecurityGroupNotFound, SecurityGroupRuleNotFound
from servers.networks.domain.rules import RuleRequest, rule_sentence


def groups_visible(*, caller: Caller | None) -> QuerySet[SecurityGroup]:
    """Groups that the caller may know of."""
    rows = SecurityGroup.objects.all()
    return rows if caller is None or caller.sees_all else rows.filter(project_id=caller.project_id)


def groups_with_rules(*, caller: Caller | None) -> QuerySet[SecurityGroup]:
    """The same with their rules, in two queries, however many."""
    return groups_visible(caller=caller).prefetch_related("rules__remote_group")


def group_get(*, caller: Caller | None, group_id: uuid.UUID) -> SecurityGroup:
    """With its rules. Raises SecurityGroupNotFound, also for one that the caller may not know of."""
    group = groups_with_rules(caller=caller).filter(pk=group_id).first()
    if group is None:
        raise SecurityGroupNotFound(_("Security group {group_id} does not exist.", group_id=group_id))
    return group


def groups_of_instance(*, instance_uuid: uuid.UUID) -> QuerySet[SecurityGroup]:
    """The groups that its ports are in, each once, with their rules. Two queries."""
    rows = SecurityGroup.objects.filter(
        pk__in=PortGroup.objects.filter(port__instance_uuid=instance_uuid).values("group")
    )
    return rows.prefetch_related("rules__remote_group")


def _with_instances(instance_ids: Any) -> QuerySet[PortGroup]:
    rows = PortGroup.objects.filter(port__instance_uuid__among=instance_ids).order_by("group__name", "group_id")
    return rows.annotate(instance_id=F("port__instance_uuid"), group_name=F("group__name"))


_OF_INSTANCES = PreparedQuery("groups_of_instances", _with_instances, types=["uuid[]"])


def group_names_of_instances(instance_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[str]]:
    """The names of the groups that the ports of each are in, each group once. One query."""
    rows: Sequence[Any] = _OF_INSTANCES.run([uuids_value(instance_ids)])
    found: dict[uuid.UUID, dict[uuid.UUID, str]] = defaultdict(dict)
    for row in rows:
        found[row.instance_id][row.group_id] = row.group_name
    return {instance_id: list(names.values()) for instance_id, names in found.items()}


def rules_visible(*, caller: Caller | None) -> QuerySet[SecurityGroupRule]:
    """Rules of groups that the caller may know of, with both groups."""
    rows = SecurityGroupRule.objects.select_related("group", "remote_group")
    return rows if caller is None or caller.sees_all else rows.filter(group__project_id=caller.project_id)


def rule_get(*, caller: Caller | None, rule_id: uuid.UUID) -> SecurityGroupRule:
    """Raises SecurityGroupRuleNotFound, also for one that the caller may not know of."""
    rule = rules_visible(caller=caller).filter(pk=rule_id).first()
    if rule is None:
        raise SecurityGroupRuleNotFound(_("Security group rule {rule_id} does not exist.", rule_id=rule_id))
    return rule


def rule_of_row(row: SecurityGroupRule) -> RuleRequest:
    """What the row says."""
    return RuleRequest(
        direction=row.direction,
        ip_version=row.ip_version,
        protocol=row.protocol,
        port_min=row.port_min,
        port_max=row.port_max,
        remote_cidr=row.remote_cidr,
        remote_group_id=row.remote_group_id,
        description=row.description,
    )


def sentence_of_row(row: SecurityGroupRule, translate: Translate = in_english) -> str:
    """The rule for people, its remote group by name."""
    name = row.remote_group.name if row.remote_group_id and row.remote_group else ""
    return rule_sentence(rule_of_row(row), group_name=name, translate=translate)
