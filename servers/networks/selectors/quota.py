"""Counting what a project has of networks. It is counted each time and never stored, as in Neutron."""

import uuid
from collections.abc import Collection

from django.db import connection

from controlplane.identity.domain.quota import NETWORK_LIMITS
from controlplane.identity.selectors import quota_limits
from controlplane.infra.db import uuid_value
from controlplane.kernel.texts import gettext_noop
from servers.catalog.selectors.quota import QuotaLine

_OWNED = "SELECT count(*) FROM {table} WHERE project_id = %s"
# Asked for every create: one statement for all that is asked for.
_COUNTS = {
    "networks": _OWNED.format(table="servers_network"),
    "subnets": _OWNED.format(table="servers_subnet"),
    "ports": _OWNED.format(table="servers_port"),
    "routers": _OWNED.format(table="servers_router"),
    "floating_ips": _OWNED.format(table="servers_floatingip"),
    "security_groups": _OWNED.format(table="servers_securitygroup"),
    "security_group_rules": (
        "SELECT count(*) FROM servers_securitygrouprule AS rule JOIN servers_securitygroup AS owner "
        "ON owner.id = rule.group_id WHERE owner.project_id = %s"
    ),
}
_LABELS = {
    "networks": gettext_noop("Networks"),
    "subnets": gettext_noop("Subnets"),
    "ports": gettext_noop("Ports"),
    "routers": gettext_noop("Routers"),
    "floating_ips": gettext_noop("Floating addresses"),
    "security_groups": gettext_noop("Security groups"),
    "security_group_rules": gettext_noop("Security group rules"),
}


def network_quota_usage(*, project_id: uuid.UUID, names: Collection[str] = NETWORK_LIMITS) -> dict[str, int]:
    """How many of each the project has. One query."""
    text = ", ".join(f"({_COUNTS[name]})" for name in names)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {text}", [uuid_value(project_id)] * len(names))
        return dict(zip(names, cursor.fetchone(), strict=True))


def network_quota_state(*, project_id: uuid.UUID) -> list[QuotaLine]:
    """What the project uses of what it may, for people."""
    used, limits = network_quota_usage(project_id=project_id), quota_limits(project_id=project_id)
    return [QuotaLine(_LABELS[name], "", used[name], getattr(limits, name)) for name in NETWORK_LIMITS]
