"""Projects of a demo, who works in them, and what they may have."""

from dataclasses import dataclass

from controlplane.identity.domain import Caller, Role
from controlplane.identity.models import Project, User
from controlplane.identity.selectors import caller_for_user
from controlplane.identity.services import project_create, role_grant
from controlplane.identity.services.groups import group_create, group_member_add, group_role_grant
from controlplane.launcher.demo.plan import DemoPlan
from servers.catalog.selectors.quota import quota_usage

UNLIMITED = -1
MEMBERS = ("deploy", "operations")
READER = "audit"


@dataclass(frozen=True, slots=True)
class ProjectKind:
    """How large a part of all instances a project has, what they are called, and how much of its quota it uses."""

    name: str
    description: str
    weight: int
    services: tuple[str, ...]
    quota_used: float


PROJECTS = (
    ProjectKind("shop", "The web shop", 22, ("web", "cart", "checkout", "cache"), 0.71),
    ProjectKind("billing", "Invoices and ledger", 9, ("ledger", "invoice", "postgres"), 0.55),
    ProjectKind("search", "Search and its indexes", 14, ("index", "query"), 0.93),
    ProjectKind("analytics", "Reports and pipelines", 16, ("worker", "pipeline"), 0.64),
    ProjectKind("ml", "Training and serving of models", 9, ("train", "serve"), 0.985),
    ProjectKind("ci", "Runners of builds", 14, ("runner",), 0.97),
    ProjectKind("staging", "What is tried before it goes live", 8, ("stage-web", "stage-db"), 0.42),
    ProjectKind("platform", "What all the others need", 8, ("proxy", "registry", "secrets", "dns"), 0.38),
)


@dataclass(frozen=True, slots=True)
class Team:
    """A project with those who may write in it."""

    kind: ProjectKind
    project: Project
    members: tuple[Caller, ...]


def teams_write(password_of: str) -> list[Team]:
    """Projects without limits for now, and users, who all have the password of the named user. Those of the last
    project are the group that reads in all others.
    """
    # Hashed once: hashes are made to be slow.
    hashed = User.objects.get(username=password_of).password
    teams = [_team(kind, hashed) for kind in PROJECTS]
    on_call = group_create(name="on-call", description="Who looks when something breaks")
    for member in teams[-1].members:
        group_member_add(group=on_call, user=User.objects.get(pk=member.user_id))
    for team in teams[:-1]:
        group_role_grant(group=on_call, project=team.project, role=Role.READER)
    return teams


def _team(kind: ProjectKind, hashed: str) -> Team:
    project = project_create(
        name=kind.name,
        description=kind.description,
        quota_instances=UNLIMITED,
        quota_cores=UNLIMITED,
        quota_ram_mib=UNLIMITED,
        quota_ports=UNLIMITED,
        quota_volumes=UNLIMITED,
        quota_volume_gib=UNLIMITED,
    )
    members = []
    for name in MEMBERS:
        user = User.objects.create(username=f"{kind.name}-{name}", password=hashed)
        role_grant(user=user, project=project, role=Role.MEMBER)
        members.append(caller_for_user(user=user))
    reader = User.objects.create(username=f"{kind.name}-{READER}", password=hashed)
    role_grant(user=reader, project=project, role=Role.READER)
    return Team(kind, project, tuple(members))


def quotas_write(plan: DemoPlan, teams: list[Team]) -> None:
    """Limits such that each project uses as much of them as its kind says: some are near their end."""
    rng = plan.rng("quotas")
    for team in teams:
        used = quota_usage(project_id=team.project.pk)
        share = team.kind.quota_used
        limits = {
            "quota_instances": _limit(used.instances, share - 0.05 * rng.random()),
            "quota_cores": _limit(used.cores, share),
            "quota_ram_mib": -(-_limit(used.ram_mib, share - 0.1 * rng.random()) // 1024) * 1024,
        }
        Project.objects.filter(pk=team.project.pk).update(**limits)


def _limit(used: int, share: float) -> int:
    """A round number of which so much is used."""
    limit = max(10, round(used / max(share, 0.05)))
    return max(limit, used)
