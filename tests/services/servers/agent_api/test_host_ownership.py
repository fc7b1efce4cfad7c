"""One agent per host: which state directory the control plane takes for the agent of a host."""

import uuid

import pytest

from computeagent.protocol.hosts import HostReport
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict
from controlplane.work.models import NamedLease
from scheduling.fleet.services.hosts import host_register
from scheduling.fleet.services.service_states import service_force_down
from servers.agent_api.host_ownership import host_ownership_admit, host_ownership_claim, host_ownership_remove
from servers.models import Instance

pytestmark = pytest.mark.django_db

FIRST, SECOND = str(uuid.uuid4()), str(uuid.uuid4())


def take(agent_id: str, *guests: uuid.UUID) -> None:
    host_ownership_claim(host="h1", agent_id=agent_id, guests=guests)


def instance_on(host: str) -> uuid.UUID:
    made = Instance.objects.create(
        name="vm",
        project_id=uuid.uuid4(),
        user_id=uuid.uuid4(),
        host=host,
        flavor={},
        vcpus=1,
        memory_mib=1,
        root_gib=1,
    )
    return uuid.UUID(str(made.pk))


def silence() -> None:
    NamedLease.objects.update(until=now_plus(-1))


def register() -> None:
    host_register(
        host="h1",
        report=HostReport(
            hypervisor_hostname="h1",
            hypervisor_type="fake",
            hypervisor_version=1,
            vcpus=8,
            memory_mib=8192,
            disk_gib=99,
        ),
    )


def test_same_directory_keeps_the_host_even_after_silence() -> None:
    take(FIRST)
    silence()
    take(FIRST)


def test_other_directory_is_refused_while_the_first_is_alive() -> None:
    take(FIRST)
    with pytest.raises(Conflict, match=f"{FIRST}, which is alive"):
        take(SECOND)


def test_other_directory_gets_an_empty_host_after_silence_and_the_first_is_refused() -> None:
    take(FIRST)
    silence()
    take(SECOND)
    with pytest.raises(Conflict, match=SECOND):
        take(FIRST)


def test_other_directory_without_the_guests_is_refused_after_silence() -> None:
    take(FIRST)
    silence()
    placed = instance_on("h1")
    with pytest.raises(Conflict, match=f"1 of its instances are not on this hypervisor \\({placed}\\)"):
        take(SECOND, uuid.uuid4())


def test_other_directory_with_all_guests_is_the_same_machine() -> None:
    take(FIRST)
    silence()
    take(SECOND, instance_on("h1"))


def test_host_declared_dead_is_given_to_another_directory() -> None:
    register()
    instance_on("h1")
    take(FIRST)
    service_force_down(host="h1", forced_down=True)
    take(SECOND)


def test_directory_of_another_host_is_refused_with_both_names() -> None:
    take(FIRST)
    with pytest.raises(Conflict, match="state directory is that of host h1, and it calls itself h2 now") as refused:
        host_ownership_claim(host="h2", agent_id=FIRST, guests=[])
    assert "--host h1" in refused.value.message
    host_ownership_claim(host="h2", agent_id=SECOND, guests=[])


def test_hypervisor_with_guests_of_another_host_gets_no_new_name() -> None:
    register()
    guest = instance_on("h1")
    with pytest.raises(Conflict, match="has 1 guests of instances on host h1, and its agent calls itself h2"):
        host_ownership_claim(host="h2", agent_id=SECOND, guests=[guest, uuid.uuid4()])
    host_ownership_claim(host="h2", agent_id=SECOND, guests=[uuid.uuid4()])


def test_directory_of_a_removed_host_may_serve_another() -> None:
    take(FIRST)
    host_ownership_remove(host="h1")
    with pytest.raises(Conflict, match="Host h1 was removed"):
        take(FIRST)
    host_ownership_claim(host="h2", agent_id=FIRST, guests=[])
    host_ownership_admit(host="h1")
    with pytest.raises(Conflict, match="state directory is that of host h2"):
        take(FIRST)
    take(SECOND)
