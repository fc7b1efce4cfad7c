"""A small cloud for tests: people, flavors, an image, hosts; a conductor that is pumped by hand, agents that obey."""

import uuid
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection
from rest_framework.test import APIClient

from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.hosts import HostReport, Registration
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import BuildFailure, FailureClass, HostBlame
from computeagent.protocol.work import WorkKind, WorkOrder
from controlplane.identity.domain import Caller, Role
from controlplane.identity.models import Project, RoleAssignment, User
from controlplane.identity.selectors import caller_for_user
from controlplane.identity.services.tokens import token_issue_own
from controlplane.work import jobs
from controlplane.work.wakeups import waiter_open
from servers.agent_api import conductor_connect
from servers.instances.domain.instance_create import InstanceCreate
from servers.instances.services.create import instances_create
from servers.models import Flavor, Image, Instance
from tests.fixtures.remembering import remembered

PASSWORD = "correct horse battery"
REPORT = HostReport(
    hypervisor_hostname="",
    hypervisor_type="QEMU",
    hypervisor_version=7002000,
    vcpus=4,
    memory_mib=8192,
    disk_gib=100,
    disk_available_least_gib=100,
    supported_instances=(("x86_64", "qemu", "hvm"),),
)


@dataclass(frozen=True, slots=True)
class People:
    """Four callers: two projects, three roles, and a stranger in the other project."""

    admin: Caller
    member: Caller
    reader: Caller
    stranger: Caller


@remembered
def people() -> People:
    """Project `demo` with admin, member and reader; project `other` with a member."""
    demo = Project.objects.create(name="demo")
    other = Project.objects.create(name="other")
    return People(
        admin=_person("root", demo, Role.ADMIN),
        member=_person("mary", demo, Role.MEMBER),
        reader=_person("rita", demo, Role.READER),
        stranger=_person("stan", other, Role.MEMBER),
    )


def _person(name: str, project: Project, role: Role) -> Caller:
    user = User.objects.create_user(username=name, password=PASSWORD)
    RoleAssignment.objects.create(user=user, project=project, role=role)
    return caller_for_user(user=user)


def client_of(caller: Caller) -> APIClient:
    """An API client with a fresh token."""
    client = APIClient()
    client.credentials(HTTP_X_AUTH_TOKEN=token_issue_own(caller=caller).token)
    return client


@remembered
def fresh_token(caller: Caller) -> str:
    """As a log-in of this person gives one."""
    return token_issue_own(caller=caller).token


@remembered
def flavor(name: str = "m1.tiny", *, vcpus: int = 1, memory_mib: int = 512, root_gib: int = 1, **more: Any) -> Flavor:
    """A flavor row."""
    return Flavor.objects.create(name=name, vcpus=vcpus, memory_mib=memory_mib, root_gib=root_gib, **more)


@remembered
def image(name: str = "demo", **more: Any) -> Image:
    """An active public image whose bytes nobody needs."""
    fields: dict[str, Any] = {"visibility": "public", "status": "active", "checksum_sha256": "0" * 64}
    fields |= {"size_bytes": 1000, "virtual_size_bytes": 2**20}
    return Image.objects.create(name=name, **{**fields, **more})


@remembered
def host(name: str, **changes: Any) -> Registration:
    """A hypervisor that registers itself."""
    return conductor_connect().register(host=name, report=replace(REPORT, hypervisor_hostname=name, **changes))


@remembered
def cloud(*hosts: str, **changes: Any) -> People:
    """People, flavor m1.tiny, image demo, and these hosts (h1 when none is named)."""
    found = people()
    flavor()
    image()
    for name in hosts or ("h1",):
        host(name, **changes)
    return found


@remembered
def create(caller: Caller, name: str = "vm", **more: Any) -> list[Instance]:
    """Ask for instances through the service."""
    return instances_create(
        caller=caller, wanted=InstanceCreate(**{"name": name, "flavor": "m1.tiny", "image": "demo", **more})
    )


def pump() -> int:
    """Answer the conductor's wake-ups until none rings. Returns how many were answered."""
    answered = 0
    waiter = waiter_open("conductor")
    while wakeups := waiter.wait(0):
        for wakeup in wakeups:
            jobs.answer(wakeup.code, wakeup.ref)
            answered += 1
    waiter.close()
    return answered


def order(host_name: str, kind: WorkKind | None = None) -> WorkOrder:
    """Take the next work of a host, as its agent would."""
    conductor = conductor_connect()
    for wakeup in conductor.waiting_work(host=host_name):
        if kind is None or wakeup.kind is kind:
            found = conductor.take(host=host_name, work_id=wakeup.work_id, owner=f"{host_name}:1")
            assert found is not None
            return found
    raise AssertionError(f"no work waits for {host_name}")


def hosts_with_work() -> list[str]:
    """Queues that have open work, as host names."""
    from controlplane.work.models import Work

    rows = Work.objects.filter(state="waiting", queue__startswith="compute.").order_by("queue")
    return sorted({queue.removeprefix("compute.") for queue in rows.values_list("queue", flat=True)})


RUNNING = GuestFacts(power_state=PowerState.RUNNING, addresses={"default": ("10.0.0.5",)})
OFF = GuestFacts(power_state=PowerState.SHUTDOWN)


def finish_builds() -> int:
    """Every agent builds what it was given. Returns how many became active."""
    built = 0
    for name in hosts_with_work():
        for wakeup in conductor_connect().waiting_work(host=name):
            taken = conductor_connect().take(host=name, work_id=wakeup.work_id, owner=f"{name}:1")
            if taken is not None and taken.kind is WorkKind.BUILD:
                conductor_connect().build_done(lease=taken.lease, facts=RUNNING)
                built += 1
    return built


def fail_build(
    host_name: str,
    failure_class: FailureClass = FailureClass.HOST,
    message: str = "no disk",
    blame: HostBlame = HostBlame.AT_ONCE,
) -> None:
    """The agent of a host gives its build back, cleaned up."""
    taken = order(host_name, WorkKind.BUILD)
    failure = BuildFailure(failure_class=failure_class, step="spawning", message=message, blame=blame)
    conductor_connect().build_failed(lease=taken.lease, failure=failure)


@remembered
def active(caller: Caller, name: str = "vm", **more: Any) -> Instance:
    """One instance, all the way to ACTIVE."""
    made = create(caller, name, **more)[0]
    pump()
    finish_builds()
    return Instance.objects.get(pk=made.pk)


def instance_of(pk: uuid.UUID) -> Instance:
    """The row now."""
    return Instance.objects.get(pk=pk)


def is_postgres() -> bool:
    """Whether this test runs on PostgreSQL."""
    return connection.vendor == "postgresql"
