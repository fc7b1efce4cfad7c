"""The operations of bench.fast_ways, and how each fast way is taken away. Imported once Django is set up."""

import json
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from itertools import cycle
from typing import Any
from unittest.mock import patch
from uuid import uuid4

from django.test import Client, override_settings
from rest_framework.serializers import Serializer

from bench.select_destinations_fleet import HELD, Requests
from computeagent.protocol.steps import StepEnd
from computeagent.protocol.work import WorkKind
from controlplane.identity.models import Project, User
from controlplane.identity.selectors import own_projects
from controlplane.identity.services import token_issue
from controlplane.infra.api.lean_output import LeanOutput
from controlplane.work import jobs, reconcile
from controlplane.work.models import Work
from controlplane.work.named_leases import lease_renew
from scheduling.engine import host_table_from_rows
from scheduling.fleet.cache.fleet_cache import FleetCache, FleetRead
from scheduling.models import ComputeNode
from servers.agent_api import conductor_connect
from servers.instances.work_kinds import SCHEDULE_AND_BUILD
from servers.models import Instance
from tests.worlds import cloud as world

Run = Callable[[], None]
Plain = Callable[[], Iterable[AbstractContextManager[Any]]]
_SELECT = Requests()
_TOKENS: dict[str, str] = {}


def select(_: world.People) -> Run:
    """Choose, claim, save."""
    return lambda: _ignored(_SELECT.one())


def _ignored(_: object) -> None: ...


def create(people: world.People) -> Run:
    """An instance to ACTIVE."""
    conductor = conductor_connect()

    def run() -> None:
        made = world.create(people.member, f"vm-{uuid4()}")[0]
        jobs.answer(SCHEDULE_AND_BUILD, str(Work.objects.get(subject=made.reservation_id).pk))
        work = Work.objects.get(kind=WorkKind.BUILD, subject=made.pk)
        order = conductor.take(host=work.queue.removeprefix("compute."), work_id=str(work.pk), owner="bench:1")
        assert order is not None
        conductor.record_steps(lease=order.lease, ended=(), begins="networking")
        for ended, begins in (("networking", "block_device_mapping"), ("block_device_mapping", "spawning")):
            conductor.record_steps(lease=order.lease, ended=[StepEnd(ended, 1.0, 0.5)], begins=begins)
        conductor.build_done(lease=order.lease, facts=world.RUNNING, ended=[StepEnd("spawning", 0.5, 0.0)])

    return run


def _request(people: world.People, method: str, path: Callable[[], str], body: Callable[[], bytes] = bytes) -> Run:
    token = _TOKENS.setdefault("root", "") or token_issue(username=people.admin.username, password=world.PASSWORD).token
    _TOKENS["root"] = token
    client = Client()  # of its own, since its handler reads the middleware once
    headers = {"HTTP_X_AUTH_TOKEN": token, "HTTP_OPENSTACK_API_VERSION": "placement 1.38"}

    def run() -> None:
        answer = client.generic(method, path(), body(), content_type="application/json", **headers)
        assert answer.status_code in {200, 204}, answer.content[:300]

    return run


def put(people: world.People) -> Run:
    """A new consumer."""
    nodes = cycle(list(ComputeNode.objects.order_by("host").values_list("id", flat=True))[:: HELD + 1])
    owner = {
        "project_id": str(people.admin.project_id),
        "user_id": str(people.admin.user_id),
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    taken = {"resources": {"VCPU": 1, "MEMORY_MB": 16, "DISK_GB": 1}}

    def body() -> bytes:
        return json.dumps({**owner, "allocations": {str(next(nodes)): taken}}).encode()

    return _request(people, "PUT", lambda: f"/placement/allocations/{uuid4()}", body)


def candidates(people: world.People) -> Run:
    """Ten candidates."""
    path = "/placement/allocation_candidates?resources=VCPU:1,MEMORY_MB:512,DISK_GB:1&limit=10"
    return _request(people, "GET", lambda: path)


def provider(people: world.People) -> Run:
    """One provider."""
    node = ComputeNode.objects.values_list("id", flat=True)[0]
    return _request(people, "GET", lambda: f"/placement/resource_providers/{node}")


def instance(people: world.People) -> Run:
    """One instance that is ACTIVE."""
    create(people)()
    made = Instance.objects.order_by("-created_at")[0]
    return _request(people, "GET", lambda: f"/api/instances/{made.pk}/")


def page(people: world.People) -> Run:
    """A short list of the dashboard."""
    client = Client()
    client.force_login(User.objects.get(pk=people.member.user_id))

    def run() -> None:
        answer = client.get("/networks/")
        assert answer.status_code == 200, answer.content[:300]

    return run


def idle(_: world.People) -> Run:
    """A turn with nothing to do."""
    reconcile.periodic_tasks_run()
    return lambda: reconcile.reconcile_round(owner="bench", seconds=60.0)


OPERATIONS = {
    "select": select,
    "create": create,
    "put": put,
    "candidates": candidates,
    "provider": provider,
    "instance": instance,
    "page": page,
    "idle": idle,
}


def _plain_table(cache: FleetCache, view: Any, facts: Any) -> FleetRead:
    read = _KEPT_TABLE(cache, view, facts)
    return FleetRead(host_table_from_rows(read.rows, read.table.aggregates), read.rows)


_KEPT_TABLE = FleetCache.table


def _plain_projects(prepared: Any, user: User, *values: Any) -> list[Project]:
    return list(prepared.narrow(own_projects.enabled_projects(user), *values))


def _plain_due(owner: str, seconds: float) -> Any:
    if not lease_renew(name=reconcile.RECONCILE_LEASE, owner=owner, seconds=seconds):
        return None
    return reconcile.Due(True, True, tuple(reconcile.PERIODIC_TASKS.values()))


WAYS: dict[str, tuple[tuple[str, ...], Plain]] = {
    "same": (("select", "create", "put"), lambda: ()),
    "fast path": (("put", "candidates"), lambda: [override_settings(FAST_PATHS={})]),
    "claim in one call": (
        ("select", "put", "create"),
        lambda: [patch("placement.services.replace.claimed_shortly", lambda _: False)],
    ),
    "decision in one statement": (
        ("select", "create"),
        lambda: [patch("scheduling.decisions.services.rows._written_shortly", lambda _: False)],
    ),
    "incremental host table": (("select", "create"), lambda: [patch.object(FleetCache, "table", _plain_table)]),
    "prepared reads": (
        ("provider", "candidates", "put", "instance"),
        lambda: [patch("controlplane.infra.prepared._is_preparing", lambda _: False)],
    ),
    "prepared projects": (("page",), lambda: [patch.object(own_projects.OwnProjects, "run", _plain_projects)]),
    "fields once": (
        ("instance",),
        lambda: [patch.object(LeanOutput, "to_representation", Serializer.to_representation)],
    ),
    "round in one statement": (("idle",), lambda: [patch.object(reconcile, "round_due", _plain_due)]),
}
