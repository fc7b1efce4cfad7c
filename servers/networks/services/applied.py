"""What a host tells of its networks: how far it is, which ports are plugged, and what it could not do.

Nothing is written that is so already, so that a host may tell the same as often as it likes.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from computeagent.protocol.networks import NetworkBackendKind, NetworkProblem, NetworksApplied, PortStatus
from controlplane.kernel.ids import parse_uuid
from controlplane.work.hints import changed, host_topic
from servers.models import FloatingIP, HostNetworkState, Port, Router
from servers.networks.domain.names import FloatingStatus, VnicType
from servers.networks.services.port_locks import ports_lock

MAX_PROBLEMS = 200
"""Told of one host. What is beyond is reported once these are gone."""
MAX_CHARACTERS = 500
CARRIED = (NetworkBackendKind.BRIDGE.value, NetworkBackendKind.OVN.value)


@dataclass(frozen=True, slots=True)
class _Differences:
    """What is to be written, of rows that are locked: ports by their new status, and those of routers."""

    ports: Mapping[tuple[PortStatus, str], Sequence[UUID]]
    routers: Mapping[UUID, str]
    failed: Sequence[UUID]
    working: Sequence[UUID]


def networks_applied(*, host: str, applied: NetworksApplied) -> None:
    """Write it down. What was reported of a later revision stays; a host that is to have nothing has no row."""
    problems = [_cleaned(problem) for problem in applied.problems[:MAX_PROBLEMS]]
    with transaction.atomic():
        states = HostNetworkState.objects.filter(host=host)
        if not states.filter(applied_revision__lte=applied.revision).exists():
            return
        # Before the state of the host, as all take these locks (`port_locks`).
        found = _differences(host, {parse_uuid(port) for port in applied.active_ports}, problems)
        state = states.select_for_update(no_key=True).first()
        if state is None or applied.revision < state.applied_revision:
            return
        rows = [{"kind": each.kind, "id": each.id, "message": each.message} for each in problems]
        revision = min(applied.revision, state.wanted_revision)
        if (revision, rows) != (state.applied_revision, state.problems):
            states.update(applied_revision=revision, problems=rows, applied_at=Now())
            changed(host_topic(host))
        _differences_write(host, found, is_all_done=revision == state.wanted_revision)


def _cleaned(problem: NetworkProblem) -> NetworkProblem:
    """Texts of a host: one line, cut to what is shown."""
    message = "".join(each if each.isprintable() else " " for each in problem.message)[:MAX_CHARACTERS]
    return NetworkProblem(problem.kind[:16], problem.id[:36], message)


def _by_id(problems: Iterable[NetworkProblem], kind: str) -> dict[UUID | None, str]:
    return {parse_uuid(problem.id): problem.message for problem in problems if problem.kind == kind}


def _differences(host: str, active: set[UUID | None], problems: Iterable[NetworkProblem]) -> _Differences:
    """What it says otherwise than the rows have it; the rows are locked. Three queries where nothing differs."""
    ports = _ports_differing(host, active, _by_id(problems, "port"))
    if ports:
        ports_lock(Port.objects.filter(pk__in=[pk for several in ports.values() for pk in several]))
    said = _by_id(problems, "router")
    here = dict(Router.objects.filter(host=host).values_list("pk", "problem"))
    routers = {pk: said.get(pk, "") for pk, problem in here.items() if said.get(pk, "") != problem}
    failed, working = _floating_held([pk for pk in here if pk in said], [pk for pk in here if pk not in said])
    if routers:
        rows = Router.objects.select_for_update(no_key=True, of=("self",)).filter(pk__in=routers).order_by("pk")
        list(rows.values_list("pk", flat=True))
    return _Differences(ports, routers, failed, working)


def _ports_differing(
    host: str, active: set[UUID | None], problems: Mapping[UUID | None, str]
) -> dict[tuple[PortStatus, str], list[UUID]]:
    here = Port.objects.filter(host=host, network__kind__in=CARRIED, vnic_type=VnicType.NORMAL, router=None)
    differing: dict[tuple[PortStatus, str], list[UUID]] = defaultdict(list)
    for pk, status, problem in here.order_by("pk").values_list("pk", "status", "problem"):
        reported = problems.get(pk, "")
        now = PortStatus.ERROR if reported else PortStatus.ACTIVE if pk in active else PortStatus.DOWN
        if (now, reported) != (status, problem):
            differing[now, reported].append(pk)
    return differing


def _floating_held(failed: Sequence[UUID], working: Sequence[UUID]) -> tuple[list[UUID], list[UUID]]:
    """Floating addresses, locked, that are to be in error with their routers, and those that are to be active."""
    if not failed and not working:
        return [], []
    error, active = FloatingStatus.ERROR.value, FloatingStatus.ACTIVE.value
    of_failed = Q(router__in=failed) & ~Q(status=error)
    differ = FloatingIP.objects.filter(of_failed | Q(router__in=working) & ~Q(status=active), port__isnull=False)
    rows = differ.select_for_update(of=("self",), no_key=True).order_by("pk").values_list("pk", "router_id")
    found: tuple[list[UUID], list[UUID]] = [], []
    for pk, router in rows:
        found[router in working].append(pk)
    return found


def _differences_write(host: str, found: _Differences, *, is_all_done: bool) -> None:
    """An update for each new status. Before all is done a router may be too new for its addresses to be there."""
    for (now, reported), ports in found.ports.items():
        # One that left this host meanwhile is not this host's to judge.
        Port.objects.filter(pk__in=ports, host=host).update(status=now.value, problem=reported, updated_at=Now())
    for pk, problem in found.routers.items():
        Router.objects.filter(pk=pk, host=host).update(problem=problem, updated_at=Now())
    floating = FloatingIP.objects.filter(port__isnull=False)
    if found.failed:
        floating.filter(pk__in=found.failed).update(status=FloatingStatus.ERROR.value, updated_at=Now())
    if found.working and is_all_done:
        floating.filter(pk__in=found.working).update(status=FloatingStatus.ACTIVE.value, updated_at=Now())
