"""Security groups and their rules."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q

from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.answers import Empty, JsonAnswer
from servers.models import SecurityGroup, SecurityGroupRule
from servers.networks.domain.rules import ANYWHERE, RuleRequest
from servers.networks.selectors.groups import group_get, groups_with_rules, rule_get, rules_visible
from servers.networks.services.groups import (
    DEFAULT_GROUP,
    default_group_make,
    security_group_create,
    security_group_delete,
    security_group_update,
)
from servers.networks.services.rules import security_group_rule_create, security_group_rule_delete
from servers.openstack.network.bodies import renamed
from servers.openstack.network.call import Document, NetworkCall, id_in_path, whole_number
from servers.openstack.network.faults import invalid_input
from servers.openstack.network.group_json import group_json, rule_json
from servers.openstack.network.listing import BY_TAGS, Condition, Listing, ids, listed, numbers, texts
from servers.openstack.network.schemas_routing import GROUP_CHANGE, GROUP_CREATE, RULE_CREATE
from servers.openstack.network.shapes_routing import (
    NewRuleShown,
    NewRulesShown,
    NewSecurityGroupShown,
    NewSecurityGroupsShown,
    RuleJson,
    RuleShown,
    RulesShown,
    SecurityGroupJson,
    SecurityGroupShown,
    SecurityGroupsShown,
)

_NAMES = {"name": "name", "description": "description"}
_OF_GROUPS: dict[str, Condition] = {
    **BY_TAGS,
    "id": ids("pk"),
    "name": texts("name"),
    "description": texts("description"),
    "project_id": ids("project_id"),
    "tenant_id": ids("project_id"),
}
_OF_WHOLE_PROJECT = frozenset({"project_id", "tenant_id", "fields", "sort_key", "sort_dir", "limit"})
"""Parameters with which a list begins with all that a project has."""
GROUPS: Listing[SecurityGroup] = Listing(
    "security_groups",
    "security-groups",
    _OF_GROUPS,
    {
        "id": "pk",
        "name": "name",
        "project_id": "project_id",
        "created_at": "created_at",
        "updated_at": "updated_at",
    },
)


def _of_prefixes(values: Sequence[str]) -> Q:
    found = Q(remote_cidr__in=[value for value in values if value])
    for version, everywhere in ANYWHERE.items():
        if everywhere in values:
            found |= Q(names_anywhere=True, ip_version=version)
    return found


_OF_RULES: dict[str, Condition] = {
    "id": ids("pk"),
    "description": texts("description"),
    "project_id": ids("group__project_id"),
    "tenant_id": ids("group__project_id"),
    "security_group_id": ids("group_id"),
    "direction": texts("direction"),
    "ethertype": lambda values: numbers("ip_version")([value.removeprefix("IPv") for value in values]),
    "protocol": texts("protocol"),
    "port_range_min": numbers("port_min"),
    "port_range_max": numbers("port_max"),
    "remote_ip_prefix": _of_prefixes,
    "remote_group_id": ids("remote_group_id"),
}
RULES: Listing[SecurityGroupRule] = Listing(
    "security_group_rules",
    "security-group-rules",
    _OF_RULES,
    {
        "id": "pk",
        "security_group_id": "group_id",
        "direction": "direction",
        "ethertype": "ip_version",
        "created_at": "created_at",
        "updated_at": "updated_at",
    },
)


def groups_list(call: NetworkCall) -> JsonAnswer[SecurityGroupsShown]:
    """Those of the project; all for administrators. The project's default group is among them from the first time."""
    seen: list[SecurityGroup] = []

    def show(found: Sequence[SecurityGroup]) -> list[SecurityGroupJson]:
        seen.extend(found)
        return [*map(group_json, found)]

    rows = groups_with_rules(caller=call.caller)
    page = listed(call, GROUPS, rows, show)
    if _shows_default(call) and default_group_make(project_id=_project_shown(call), found=seen):
        page = listed(call, GROUPS, rows, show)
    content: SecurityGroupsShown = {"security_groups": page.shown}
    if page.links:
        content["security_groups_links"] = page.links
    return call.answer(content)


def _shows_default(call: NetworkCall) -> bool:
    """Whether a default group that was made now could be what is asked for."""
    names = call.query.getlist("name") or [DEFAULT_GROUP]
    return DEFAULT_GROUP in names and set(call.query) <= {"name", *_OF_WHOLE_PROJECT}


def _project_shown(call: NetworkCall) -> UUID | None:
    """The project whose things are asked for: the caller's, unless an administrator names another one; None in the
    system.
    """
    asked = [*call.query.getlist("project_id"), *call.query.getlist("tenant_id")]
    named = parse_uuid(asked[0]) if asked and call.caller.is_admin else None
    return named or call.caller.own_project_id


def group_add(call: NetworkCall) -> JsonAnswer[NewSecurityGroupShown | NewSecurityGroupsShown]:
    """A new group, which lets all out and nothing in."""

    def make(asked: Sequence[Document]) -> list[SecurityGroup]:
        return [
            security_group_create(caller=call.caller, project_id=call.project_of(each), **renamed(each, _NAMES))
            for each in asked
        ]

    things = call.created(GROUP_CREATE, make, lambda made: [*map(group_json, made)])
    if things.is_many:
        return call.answer({"security_groups": things.shown}, status=201)
    return call.answer({"security_group": things.shown[0]}, status=201)


def group_show(call: NetworkCall, group_id: str) -> JsonAnswer[SecurityGroupShown]:
    """One group with its rules."""
    row = group_get(caller=call.caller, group_id=id_in_path(group_id, "SecurityGroupNotFound", "Security group"))
    return call.answer({"security_group": call.chosen(group_json(row))})


def group_change(call: NetworkCall, group_id: str) -> JsonAnswer[SecurityGroupShown]:
    """Name and description; rules come and go by themselves."""
    known = id_in_path(group_id, "SecurityGroupNotFound", "Security group")
    changes = renamed(call.body(GROUP_CHANGE)["security_group"], _NAMES)
    row = security_group_update(caller=call.caller, group_id=known, changes=changes)
    return call.answer({"security_group": call.chosen(group_json(group_get(caller=call.caller, group_id=row.pk)))})


def group_remove(call: NetworkCall, group_id: str) -> Empty:
    """Gone, if no port is in it."""
    known = id_in_path(group_id, "SecurityGroupNotFound", "Security group")
    security_group_delete(caller=call.caller, group_id=known)
    return call.empty()


def rules_list(call: NetworkCall) -> JsonAnswer[RulesShown]:
    """Those of the project's groups; all for administrators. Where there are none, the default group's are made."""
    seen: list[SecurityGroupRule] = []

    def show(found: Sequence[SecurityGroupRule]) -> list[RuleJson]:
        seen.extend(found)
        return [rule_json(row, row.group.project_id) for row in found]

    rows = rules_visible(caller=call.caller)
    page = listed(call, RULES, rows, show)
    of_all = set(call.query) <= _OF_WHOLE_PROJECT
    if of_all and default_group_make(project_id=_project_shown(call), found=[row.group for row in seen]):
        page = listed(call, RULES, rows, show)
    content: RulesShown = {"security_group_rules": page.shown}
    if page.links:
        content["security_group_rules_links"] = page.links
    return call.answer(content)


def rule_add(call: NetworkCall) -> JsonAnswer[NewRuleShown | NewRulesShown]:
    """A rule more in a group, or several."""

    def make(asked: Sequence[Document]) -> list[SecurityGroupRule]:
        made = []
        for each in asked:
            group = group_get(caller=call.caller, group_id=UUID(each["security_group_id"]))
            _project_must_be(call, each, group.project_id)
            made.append(security_group_rule_create(caller=call.caller, group_id=group.pk, rule=_rule(call, each)))
        return made

    things = call.created(RULE_CREATE, make, lambda made: [rule_json(row, row.group.project_id) for row in made])
    if things.is_many:
        return call.answer({"security_group_rules": things.shown}, status=201)
    return call.answer({"security_group_rule": things.shown[0]}, status=201)


def _project_must_be(call: NetworkCall, asked: Document, owner: UUID) -> None:
    if (asked.get("project_id") or asked.get("tenant_id")) and call.project_of(asked) != owner:
        raise invalid_input("project_id", "A rule is of the project that its group is of.")


def _remote_group(call: NetworkCall, named: str | None) -> UUID | None:
    """Neutron looks it up as if it were in the path. Raises Fault 404, and SecurityGroupNotFound."""
    if not named:
        return None
    known = id_in_path(named, "SecurityGroupNotFound", "Security group")
    return group_get(caller=call.caller, group_id=known).pk


def _rule(call: NetworkCall, asked: Document) -> RuleRequest:
    ports = {name: asked.get(f"port_range_{name}") for name in ("min", "max")}
    numbered = {name: None if value is None else whole_number(value) for name, value in ports.items()}
    protocol = asked.get("protocol")
    return RuleRequest(
        direction=asked["direction"],
        ip_version=6 if asked.get("ethertype") == "IPv6" else 4,
        protocol="" if protocol is None else str(protocol),
        port_min=numbered["min"],
        port_max=numbered["max"],
        remote_cidr=asked.get("remote_ip_prefix") or "",
        remote_group_id=_remote_group(call, asked.get("remote_group_id")),
        description=asked.get("description", ""),
    )


def rule_show(call: NetworkCall, rule_id: str) -> JsonAnswer[RuleShown]:
    """One rule."""
    known = id_in_path(rule_id, "SecurityGroupRuleNotFound", "Security group rule")
    row = rule_get(caller=call.caller, rule_id=known)
    return call.answer({"security_group_rule": call.chosen(rule_json(row, row.group.project_id))})


def rule_remove(call: NetworkCall, rule_id: str) -> Empty:
    """What it alone let through is cut."""
    known = id_in_path(rule_id, "SecurityGroupRuleNotFound", "Security group rule")
    security_group_rule_delete(caller=call.caller, rule_id=known)
    return call.empty()
