"""Security groups as Nova showed them before Neutron did."""

from typing import Any

from servers.models import SecurityGroup


def security_group_document(group: SecurityGroup) -> dict[str, Any]:
    """With the rules of what comes in; Nova knew no others."""
    rules = [one for one in group.rules.all() if one.direction == "ingress"]
    return {
        "id": str(group.pk),
        "name": group.name,
        "description": group.description,
        "tenant_id": group.project_id.hex,
        "rules": [
            {
                "id": str(one.pk),
                "parent_group_id": str(group.pk),
                "ip_protocol": one.protocol or None,
                "from_port": one.port_min,
                "to_port": one.port_max,
                "ip_range": {} if one.remote_group_id else {"cidr": one.remote_cidr or _anywhere(one.ip_version)},
                "group": {"name": one.remote_group.name, "tenant_id": one.remote_group.project_id.hex}
                if one.remote_group
                else {},
            }
            for one in rules
        ],
    }


def _anywhere(version: int) -> str:
    return "::/0" if version == 6 else "0.0.0.0/0"
