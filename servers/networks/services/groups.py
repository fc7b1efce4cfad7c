"""Security groups of projects."""

import uuid
from collections.abc import Iterable, Mapping

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.db.models.functions import Now

from computeagent.protocol.networks import Direction
from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.selectors.people import project_names
from controlplane.infra.db import in_transaction
from controlplane.kernel.texts import Phrase, gettext_noop
from controlplane.kernel.texts import phrase as _
from servers.fields import problems_found, refuse_if, text_reasons
from servers.models import PortGroup, SecurityGroup, SecurityGroupRule
from servers.networks.domain.errors import DefaultGroup, SecurityGroupInUse
from servers.networks.domain.rules import RuleRequest, rule_key
from servers.networks.selectors.groups import group_get
from servers.networks.selectors.networks import owner_of, sees_all
from servers.networks.services.changes import networks_changed
from servers.networks.services.ovn_changes import ovn_changes_note
from servers.networks.services.quota import network_quota_check

DEFAULT_GROUP = "default"
CHANGEABLE = ("name", "description")


def default_group_ensure(*, project_id: uuid.UUID) -> SecurityGroup:
    """The group of new ports of the project that name none. It is made on first need with Neutron's rules: all may go
    out, and what the group's own ports send may come in. No quota counts against it, since no port is made without.

    Two that do it at once get the same group: the constraint lets one of them make it, and the other waits for it.
    """
    found = SecurityGroup.objects.filter(project_id=project_id, is_default=True).first()
    if found is not None:
        return found
    with transaction.atomic():
        made = SecurityGroup(project_id=project_id, name=DEFAULT_GROUP, is_default=True)
        SecurityGroup.objects.bulk_create([made], ignore_conflicts=True)
        found = SecurityGroup.objects.get(project_id=project_id, is_default=True)
        if found.pk == made.pk:
            _first_rules(found, [Direction.EGRESS, Direction.INGRESS])
    return found


def default_group_make(*, project_id: uuid.UUID | None, found: Iterable[SecurityGroup] = ()) -> bool:
    """Make the default group of a project that is there, before the project's groups are shown; in the system (None)
    there is none. `found`: groups that are at hand; where it is among them, nothing is asked.

    Returns whether it was made now, so that whoever lists groups reads them again.
    """
    if project_id is None or any(one.is_default and one.project_id == project_id for one in found):
        return False
    if SecurityGroup.objects.filter(project_id=project_id, is_default=True).exists():
        return False
    if not project_names([project_id]):
        return False
    default_group_ensure(project_id=project_id)
    return True


@audited("security_group.create", SecurityGroup)
def security_group_create(
    *, caller: Caller | None, name: str, description: str = "", project_id: uuid.UUID | None = None
) -> SecurityGroup:
    """A new group whose ports may send to anywhere and receive nothing, as in Neutron. `project_id` None: the caller's.

    Raises InvalidFields, DefaultGroup for the name of the default group, QuotaExceeded.
    """
    _check({"name": name, "description": description})
    owner = owner_of(caller, project_id)
    with transaction.atomic():
        # In the order of locks the quota comes first.
        network_quota_check(project_id=owner, wanted={"security_groups": 1, "security_group_rules": 2})
        default_group_ensure(project_id=owner)
        made = SecurityGroup.objects.create(project_id=owner, name=name, description=description)
        _first_rules(made, [Direction.EGRESS])
    return made


@audited("security_group.update", SecurityGroup, by="group_id")
def security_group_update(*, caller: Caller | None, group_id: uuid.UUID, changes: Mapping[str, str]) -> SecurityGroup:
    """Change name or description. Raises NotFound, InvalidFields, DefaultGroup."""
    group = group_get(caller=caller, group_id=group_id)
    unknown = {name: [_("This cannot be changed.")] for name in changes if name not in CHANGEABLE}
    refuse_if(unknown)
    if group.is_default and changes.get("name", group.name) != group.name:
        raise DefaultGroup(_("The default group of a project keeps its name."), field="name")
    if not group.is_default:
        _check(changes)
    for name, value in changes.items():
        setattr(group, name, value)
    SecurityGroup.objects.filter(pk=group.pk).update(**changes, updated_at=Now())
    return group


@audited("security_group.delete", SecurityGroup, by="group_id")
def security_group_delete(*, caller: Caller | None, group_id: uuid.UUID) -> None:
    """Remove a group that no port is in. Rules of other groups that name it as remote go with it, as in Neutron.

    Raises NotFound; DefaultGroup; SecurityGroupInUse with the number of ports.
    """
    group = group_get(caller=caller, group_id=group_id)
    if group.is_default and not sees_all(caller):
        raise DefaultGroup(_("The default group of a project stays."))

    def work() -> None:
        networks_changed(groups=[group.pk])
        if ports := PortGroup.objects.filter(group=group.pk).count():
            raise _in_use(group, ports)
        SecurityGroup.objects.filter(pk=group.pk).delete()

    try:
        in_transaction(work)
    except (ProtectedError, IntegrityError) as error:  # a port came in meanwhile
        raise _in_use(group, PortGroup.objects.filter(group=group.pk).count()) from error


def _in_use(group: SecurityGroup, ports: int) -> SecurityGroupInUse:
    one = gettext_noop("Security group {group} is in use: {ports} port is in it.")
    more = gettext_noop("Security group {group} is in use: {ports} ports are in it.")
    return SecurityGroupInUse(Phrase(one if ports == 1 else more, group=group.name, ports=ports), ports=ports)


def _check(values: Mapping[str, str]) -> None:
    """A name may have blanks around it, as in Neutron, which also keeps the name of the default group for that one."""
    reasons = {"description": text_reasons(values["description"], maximum=255)} if "description" in values else {}
    if "name" in values:
        name = values["name"]
        reasons["name"] = text_reasons(name, maximum=255) if name.strip() else ["Must not be blank."]
    refuse_if(problems_found(reasons))
    if values.get("name") == DEFAULT_GROUP:
        raise DefaultGroup(_("Each project has its default group already; no other one has this name."), field="name")


def _first_rules(group: SecurityGroup, directions: list[Direction]) -> None:
    """What a new group lets through, of both IP versions: all that its ports send; from its own ports what they get."""
    rows = []
    for direction in directions:
        remote = group.pk if direction is Direction.INGRESS else None
        for version in (4, 6):
            rule = RuleRequest(direction=direction.value, ip_version=version, remote_group_id=remote)
            rows.append(
                SecurityGroupRule(
                    group=group,
                    direction=rule.direction,
                    ip_version=version,
                    remote_group_id=remote,
                    rule_key=rule_key(rule),
                )
            )
    SecurityGroupRule.objects.bulk_create(rows)
    ovn_changes_note(groups=[group.pk])  # no host has it yet, so that no other than OVN is told of it
