"""Removing a project: what is still in it is said with numbers, and what was made by itself goes with it."""

import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import cast

from django.db import IntegrityError, models
from django.db.models import ProtectedError

from controlplane.audit_log.recording.audited import audited
from controlplane.audit_log.recording.record import AuditChange, change_record, facts_of, target_of
from controlplane.identity.domain import Role
from controlplane.identity.models import Project, RoleAssignment
from controlplane.infra.db import in_transaction
from controlplane.infra.model_names import model_name, model_names
from controlplane.kernel.errors import Conflict, NotFound
from controlplane.kernel.texts import phrase as _

SHOWN = 12
DELETE = "project.delete"


class ProjectInUse(Conflict):
    """Something is still in the project; `extra` has how much of what."""

    code = "project_in_use"
    retryable = False


@dataclass(frozen=True, slots=True)
class ProjectContents:
    """What an app has of projects beside rows that simply name theirs. `purge` removes what was made by itself and
    holds nothing; `count` says in words how much there is of `models` (labels such as servers.InstanceMapping).
    """

    purge: Callable[[uuid.UUID], object]
    count: Callable[[uuid.UUID], Mapping[str, int]]
    models: Collection[str] = ()


_CONTENTS: dict[str, ProjectContents] = {}


def project_contents_register(app: str, contents: ProjectContents) -> None:
    """Called when the apps are ready; of one app the last counts."""
    _CONTENTS[app] = contents


@audited(DELETE, Project, by="project_id", by_itself=True)
def project_delete(*, project_id: uuid.UUID) -> None:
    """Remove the project with its roles, tokens and limits, if nothing is in it any more.

    Raises NotFound; ProjectInUse with what is in the way; Conflict for the only project that makes anybody an
    administrator.
    """

    def work() -> None:
        project = Project.objects.select_for_update().filter(pk=project_id).first()
        if project is None:
            raise NotFound(_("Project {project_id} does not exist.", project_id=project_id))
        admins = RoleAssignment.objects.filter(role=Role.ADMIN.value)
        if admins.filter(project=project).exists() and not admins.exclude(project=project).exists():
            raise Conflict(
                _("Project {project} stays: in no other one is anybody an administrator.", project=project.name)
            )
        for contents in _CONTENTS.values():
            contents.purge(project.pk)
        if left := project_contents(project.pk):
            raise _in_use(project, left)
        gone = AuditChange(DELETE, target_of("project", project), before=facts_of(project))
        project.delete()
        change_record(gone, of=DELETE)

    try:
        in_transaction(work)
    except (ProtectedError, IntegrityError) as error:
        raise ProjectInUse(
            _("Something came into project {project_id} at this very moment. Look again.", project_id=project_id)
        ) from error


def project_contents(project_id: uuid.UUID) -> dict[str, int]:
    """How much of what is in it, in words. A statement for each kind of thing."""
    found: dict[str, int] = {}
    counted = {label for contents in _CONTENTS.values() for label in contents.models}
    for relation in Project._meta.get_fields(include_hidden=True):
        if not isinstance(relation, models.ManyToOneRel) or relation.on_delete is not models.PROTECT:
            continue
        model = cast("type[models.Model]", relation.related_model)
        if model._meta.label in counted:
            continue
        count = model._base_manager.filter(**{relation.field.name: project_id}).count()
        if count:
            name = model_name(model) if count == 1 else model_names(model)
            found[name] = found.get(name, 0) + count
    for contents in _CONTENTS.values():
        found |= {words: count for words, count in contents.count(project_id).items() if count}
    return found


def _in_use(project: Project, left: Mapping[str, int]) -> ProjectInUse:
    words = ", ".join(f"{count} {name}" for name, count in sorted(left.items())[:SHOWN])
    return ProjectInUse(
        _("Project {project} still has {words}.", project=project.name, words=words), contents=dict(left)
    )
