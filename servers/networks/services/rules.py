"""Rules of security groups come and go; none is ever changed, as in Neutron."""

import uuid
from collections.abc import Sequence

from django.db import IntegrityError

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import InvalidFields
from controlplane.kernel.texts import phrase as _
from servers.models import SecurityGroup, SecurityGroupRule
from servers.networks.domain.errors import SecurityGroupRuleExists
from servers.networks.domain.rules import RuleRequest, rule_canonical, rule_key
from servers.networks.selectors.groups import group_get, groups_visible, rule_get, sentence_of_row
from servers.networks.services.changes import networks_changed
from servers.networks.services.quota import network_quota_check


@audited("security_group.rule_create", SecurityGroup, by="group_id", also=("rule",))
def security_group_rule_create(*, caller: Caller | None, group_id: uuid.UUID, rule: RuleRequest) -> SecurityGroupRule:
    """Add a rule to a group. A remote group is one of the same project.

    Raises NotFound, InvalidFields, SecurityGroupRuleExists, QuotaExceeded.
    """
    group = group_get(caller=caller, group_id=group_id)
    return security_group_rules_add(caller=caller, group=group, rules=[rule])[0]


@audited("security_group.rules_add", also=("rules",))
def security_group_rules_add(
    *, caller: Caller | None, group: SecurityGroup, rules: Sequence[RuleRequest]
) -> list[SecurityGroupRule]:
    """Add all of these rules, or none. Raises as `security_group_rule_create`."""
    wanted = [rule_canonical(rule) for rule in rules]
    remote_ids = {rule.remote_group_id for rule in wanted if rule.remote_group_id is not None}
    remotes = groups_visible(caller=caller).filter(project=group.project_id, pk__in=remote_ids)
    if missing := remote_ids - set(remotes.values_list("pk", flat=True)):
        raise InvalidFields({"remote_group": [_("The project has no security group {missing}.", missing=min(missing))]})

    def work() -> list[SecurityGroupRule]:
        network_quota_check(project_id=group.project_id, wanted={"security_group_rules": len(wanted)})
        rows = [_row_of(group, rule, given) for rule, given in zip(wanted, rules, strict=True)]
        there = SecurityGroupRule.objects.filter(group=group.pk, rule_key__in=[row.rule_key for row in rows])
        if twice := there.select_related("remote_group").first():
            said = sentence_of_row(twice)
            raise SecurityGroupRuleExists(
                _("Group {group} has this rule already: {said}", group=group.name, said=said), rule_id=str(twice.pk)
            )
        SecurityGroupRule.objects.bulk_create(rows)
        networks_changed(groups=[group.pk])
        return rows

    try:
        return in_transaction(work)
    except IntegrityError as error:
        raise SecurityGroupRuleExists(
            _(
                "Somebody changed group {group}, or one that the rules name, at this very moment. Look again.",
                group=group.name,
            )
        ) from error


def _row_of(group: SecurityGroup, rule: RuleRequest, given: RuleRequest) -> SecurityGroupRule:
    """`rule` is `given` in its one form."""
    return SecurityGroupRule(
        group=group,
        description=rule.description,
        direction=rule.direction,
        ip_version=rule.ip_version,
        protocol=rule.protocol,
        port_min=rule.port_min,
        port_max=rule.port_max,
        remote_cidr=rule.remote_cidr,
        names_anywhere=bool(given.remote_cidr) and not rule.remote_cidr,
        remote_group_id=rule.remote_group_id,
        rule_key=rule_key(rule),
    )


@audited("security_group_rule.delete", SecurityGroupRule, by="rule_id")
def security_group_rule_delete(*, caller: Caller | None, rule_id: uuid.UUID) -> None:
    """Remove a rule. Hosts cut what it alone let through. Raises NotFound."""
    rule = rule_get(caller=caller, rule_id=rule_id)

    def work() -> None:
        networks_changed(groups=[rule.group_id])
        SecurityGroupRule.objects.filter(pk=rule.pk).delete()

    in_transaction(work)
