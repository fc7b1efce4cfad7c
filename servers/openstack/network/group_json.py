"""Security groups and their rules as the Network API shows them."""

import uuid

from servers.models import SecurityGroup, SecurityGroupRule
from servers.networks.domain.rules import ANYWHERE
from servers.openstack.call import whole_seconds
from servers.openstack.network.call import project_json
from servers.openstack.network.shapes_routing import RuleJson, SecurityGroupJson


def group_json(group: SecurityGroup) -> SecurityGroupJson:
    """A group with its rules, the oldest first."""
    rules = sorted(group.rules.all(), key=lambda rule: (rule.created_at, rule.pk))
    return {
        "id": str(group.pk),
        "name": group.name,
        "description": group.description,
        **project_json(group.project_id),
        "tags": group.tags,
        "security_group_rules": [rule_json(rule, group.project_id) for rule in rules],
        "created_at": whole_seconds(group.created_at),
        "updated_at": whole_seconds(group.updated_at),
    }


def rule_json(rule: SecurityGroupRule, project_id: uuid.UUID) -> RuleJson:
    """A rule, of the project that its group is of. What it does not say is null: it means any."""
    return {
        "id": str(rule.pk),
        "description": rule.description,
        **project_json(project_id),
        "security_group_id": str(rule.group_id),
        "direction": rule.direction,
        "ethertype": f"IPv{rule.ip_version}",
        "protocol": rule.protocol or None,
        "port_range_min": rule.port_min,
        "port_range_max": rule.port_max,
        "remote_ip_prefix": rule.remote_cidr or (ANYWHERE[rule.ip_version] if rule.names_anywhere else None),
        "remote_group_id": str(rule.remote_group_id) if rule.remote_group_id else None,
        "created_at": whole_seconds(rule.created_at),
        "updated_at": whole_seconds(rule.updated_at),
    }
