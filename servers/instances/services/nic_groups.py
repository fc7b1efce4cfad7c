"""The security groups that a request for instances names."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict, KilonovaError
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from servers.fields import Reasons
from servers.models import SecurityGroup

DEFAULT_GROUP = "default"


@dataclass(frozen=True, slots=True)
class GroupsFound:
    """Security groups by name or id: ids, whether the default one is among them and does not exist yet (it is made when
    it is needed first), and what is wrong.
    """

    ids: tuple[uuid.UUID, ...] = ()
    names_default: bool = False
    reasons: tuple[str, ...] = ()
    refusals: tuple[KilonovaError, ...] = ()


def groups_found(caller: Caller, references: Sequence[str]) -> GroupsFound:
    """Those of the caller's project. SecurityGroupNotFound, and NoUniqueMatch for a name that several have."""
    if not references:
        return GroupsFound()
    pks = [pk for one in references if (pk := parse_uuid(one)) is not None]
    ours = SecurityGroup.objects.filter(project_id=caller.project_id)
    rows = list(ours.filter(Q(pk__in=pks) | Q(name__in=references)))
    ids: list[uuid.UUID] = []
    reasons: Reasons = []
    refusals: list[KilonovaError] = []
    names_default = False
    for reference in dict.fromkeys(references):
        matches = [row for row in rows if str(row.pk) == reference] or [row for row in rows if row.name == reference]
        if len(matches) > 1:
            words = _(
                "{count} security groups are named {reference!r:.80}: give an id.",
                count=len(matches),
                reference=reference,
            )
            refusals.append(Conflict(words, field="security_groups"))
        elif matches:
            ids.append(matches[0].pk)
        elif reference == DEFAULT_GROUP:
            names_default = True
        else:
            reasons.append(_("There is no security group {reference!r:.80}.", reference=reference))
    return GroupsFound(tuple(dict.fromkeys(ids)), names_default, tuple(reasons), tuple(refusals))
