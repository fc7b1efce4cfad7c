"""A host whose agent is locked out gets nothing new at once, and what it had not begun goes elsewhere."""

import logging
import uuid

import pytest

from computeagent.protocol.wire import secret_digest
from controlplane.kernel.errors import Conflict, Forbidden, Invalid, NotFound
from controlplane.work.models import Work
from placement.models import Allocation
from scheduling.fleet.services.service_states import service_disable, service_enable, service_force_down
from scheduling.models import BuildFailures, Service
from servers.agent_api.credentials import (
    credential_host,
    credential_revoke,
    credential_set,
    enrolment_create,
    enrolment_redeem,
)
from servers.agent_api.host_ownership import host_ownership_claim
from servers.agent_api.stranded_builds import stranded_builds_leave
from servers.hosts.domain.host_names import RESERVED
from servers.instances.services.delete import instance_delete
from servers.models import AgentCredential, Instance, InstanceFault
from tests.worlds import agents
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = secret_digest("kna_of-h1")


@pytest.fixture
def who() -> world.People:
    people = world.cloud("h1", "h2")
    credential_set(host="h1", secret_digest=SECRET)
    return people


def waiting_build(who: world.People, host: str) -> Instance:
    """Dispatched to this host by the scheduler, and not begun."""
    other = {"h1": "h2", "h2": "h1"}[host]
    service_disable(host=other)
    (made,) = world.create(who.member)
    world.pump()
    service_enable(host=other)
    found = Instance.objects.get(pk=made.pk)
    assert (found.host, found.vm_state) == (host, "building")
    return found


def service(host: str = "h1") -> Service:
    return Service.objects.get(host=host)


def test_revoked_host_is_disabled_with_the_reason_and_enabled_by_an_enrolment(who: world.People) -> None:
    credential_revoke(host="h1")
    assert service().disabled
    assert service().disabled_reason == "AUTO: locked out: The secret of its agent was revoked."
    world.create(who.member, min_count=2, max_count=2)
    world.pump()
    assert set(Instance.objects.values_list("host", flat=True)) == {"h2"}
    credential_set(host="h1", secret_digest=secret_digest("kna_new"))
    assert (service().disabled, service().disabled_reason) == (False, "")


def test_what_an_operator_said_of_the_host_stays(who: world.People) -> None:
    service_disable(host="h1", reason="new memory")
    credential_revoke(host="h1")
    credential_set(host="h1", secret_digest=secret_digest("kna_new"))
    assert (service().disabled, service().disabled_reason) == (True, "new memory")


def test_token_that_nobody_used_is_revoked_before_the_host_is_enrolled() -> None:
    token = enrolment_create(host="h9").token
    credential_revoke(host="h9")
    with pytest.raises(Forbidden, match="does not enrol host h9"):
        enrolment_redeem(host="h9", token=token, secret_digest=SECRET)
    assert not AgentCredential.objects.exists()
    with pytest.raises(NotFound, match="no agent's secret and no token"):
        credential_revoke(host="h9")


def test_token_of_a_host_that_was_revoked_before_is_revoked(who: world.People) -> None:
    credential_revoke(host="h1")
    token = enrolment_create(host="h1").token
    credential_revoke(host="h1")
    with pytest.raises(Forbidden, match="does not enrol host h1"):
        enrolment_redeem(host="h1", token=token, secret_digest=secret_digest("kna_new"))


def test_heartbeat_that_a_revocation_overtook_says_so_and_gets_nothing(who: world.People) -> None:
    """It was let in before, and claims its host after: with instances there, and without any."""
    agent = str(uuid.uuid4())
    host_ownership_claim(host="h1", agent_id=agent, guests=())
    credential_revoke(host="h1")
    for _ in range(2):
        with pytest.raises(Conflict, match="This secret is no agent's"):
            host_ownership_claim(host="h1", agent_id=agent, guests=())
    credential_set(host="h1", secret_digest=secret_digest("kna_new"))
    host_ownership_claim(host="h1", agent_id=agent, guests=())


def test_host_that_never_registered_can_be_revoked() -> None:
    credential_set(host="h9", secret_digest=SECRET)
    credential_revoke(host="h9")
    assert AgentCredential.objects.get().revoked_at is not None


def test_build_that_nobody_took_is_built_elsewhere(who: world.People) -> None:
    instance = waiting_build(who, "h1")
    credential_revoke(host="h1")
    assert Work.objects.get(queue="compute.h1").state == "cancelled"
    world.pump()
    instance.refresh_from_db()
    assert (instance.host, instance.hosts_tried, instance.vm_state) == ("h2", ["h1"], "building")
    assert not BuildFailures.objects.exists(), "the host is not blamed"
    world.finish_builds()
    instance.refresh_from_db()
    assert instance.vm_state == "active"
    assert set(Allocation.objects.values_list("provider__name", flat=True)) == {"h2"}


def test_build_of_a_request_that_names_the_host_ends_at_once_and_says_why(who: world.People) -> None:
    world.create(who.admin, availability_zone="nova:h1")
    world.pump()
    credential_revoke(host="h1")
    world.pump()
    instance = Instance.objects.get()
    assert (instance.vm_state, instance.host) == ("error", "")
    fault = InstanceFault.objects.get(instance_uuid=instance.pk)
    assert "h1" not in fault.message
    assert "The agent of its host was locked out before it began." in fault.details
    assert not Allocation.objects.exists()


def test_build_that_an_agent_took_stays(who: world.People) -> None:
    instance = waiting_build(who, "h1")
    agent = agents.door_agent("h1")
    lease = agent.take().lease
    credential_revoke(host="h1")
    assert stranded_builds_leave() == 0
    instance.refresh_from_db()
    assert (instance.host, Work.objects.get(queue="compute.h1").state) == ("h1", "running")
    assert agents.code_of(agent.ask("renew", lease=lease)) == "secret_refused"


def test_build_that_is_deleted_meanwhile_stays_deleted(who: world.People) -> None:
    instance = waiting_build(who, "h1")
    instance_delete(caller=who.member, instance_id=instance.pk)
    credential_revoke(host="h1")
    assert not Work.objects.filter(kind="reschedule").exists()


def test_build_that_came_as_the_host_was_locked_out_leaves_with_the_next_round(who: world.People) -> None:
    instance = waiting_build(who, "h1")
    AgentCredential.objects.update(revoked_at=service().last_seen_up)
    assert stranded_builds_leave() == 1
    assert stranded_builds_leave() == 0
    world.pump()
    instance.refresh_from_db()
    assert instance.host == "h2"


def test_build_that_nobody_took_leaves_a_host_that_is_declared_dead(who: world.People) -> None:
    instance = waiting_build(who, "h1")
    service_force_down(host="h1", forced_down=True)
    assert stranded_builds_leave() == 1
    world.pump()
    instance.refresh_from_db()
    assert (instance.host, instance.hosts_tried) == ("h2", ["h1"])
    with pytest.raises(AssertionError, match="no work waits for h1"):
        world.order("h1")


def test_build_stays_on_a_host_that_is_silent_and_no_more(who: world.People) -> None:
    waiting_build(who, "h1")
    Service.objects.filter(host="h1").update(last_seen_up=None)
    assert stranded_builds_leave() == 0
    assert world.order("h1").kind == "build"


def test_builds_of_other_hosts_stay(who: world.People) -> None:
    instance = waiting_build(who, "h2")
    credential_revoke(host="h1")
    assert stranded_builds_leave() == 0
    assert Work.objects.get(subject=instance.pk, queue="compute.h2").state == "waiting"


@pytest.mark.parametrize("host", sorted(RESERVED))
def test_name_that_is_an_address_of_something_else_is_refused(host: str) -> None:
    with pytest.raises(Invalid, match=f"A host cannot be called {host}") as refused:
        enrolment_create(host=host)
    assert refused.value.field == "host"


def test_log_of_a_revocation_counts_the_builds(who: world.People, caplog: pytest.LogCaptureFixture) -> None:
    waiting_build(who, "h1")
    with caplog.at_level(logging.WARNING):
        credential_revoke(host="h1")
    assert "1 builds that nobody had begun leave host h1" in caplog.text
    assert credential_host(SECRET) is None
