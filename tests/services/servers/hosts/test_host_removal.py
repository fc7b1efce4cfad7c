"""A host goes whole or not at all: what refuses its removal, what a forced one leaves, and how it comes back."""

import uuid
from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models import F

from computeagent.protocol.guests import GuestOnHypervisor
from computeagent.protocol.hosts import HostMeasures, HostUsage
from computeagent.protocol.power import PowerState
from computeagent.protocol.wire import secret_digest
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, Fenced, Forbidden, NotFound
from controlplane.work.control import Operator
from controlplane.work.models import NamedLease, Work
from placement.domain import Claim
from placement.models import Allocation, Inventory, ProviderAggregate, ProviderTrait, ResourceProvider
from placement.selectors import allocations_by_consumer
from placement.services import allocations_claim, provider_ensure
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from scheduling.fleet.services.build_failures import build_failure_count
from scheduling.fleet.services.service_states import service_disable, service_force_down
from scheduling.models import AggregateHost, BuildFailures, ComputeNode, HostMapping, PciDevice, Service, TopologyClaim
from servers.agent_api import conductor_connect
from servers.agent_api.credentials import (
    credential_host,
    credential_set,
    enrolment_create,
    enrolment_redeem,
    enrolments_prune,
)
from servers.agent_api.host_ownership import host_ownership_claim
from servers.hosts.domain.removal import RemovalReason, RemovalRefused
from servers.hosts.services.removal import HostRemoved, host_remove
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.models import AgentCredential, AgentEnrolment, InstanceFault, OrphanGuest
from servers.repair.domain.drift import DriftKind
from servers.repair.selectors.drift import drift_list
from servers.repair.services.audit import audit_findings
from servers.repair.services.placement_audit import placement_audit
from servers.repair.services.placement_heal import finding_heal
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
AGENT = str(uuid.uuid4())
SECRET = secret_digest("kna_of-h1")


def down(host: str = "h1") -> None:
    """Its agent is stopped for long."""
    Service.objects.filter(host=host).update(last_seen_up=F("last_seen_up") - timedelta(hours=1))


def reasons_of(host: str = "h1", *, force: bool = False) -> dict[str, int]:
    with pytest.raises(RemovalRefused) as refused:
        host_remove(host=host, force=force)
    assert str(refused.value).startswith(f"Host {host} is not removed. ")
    assert Service.objects.filter(host=host).exists()
    return {reason.value: count for reason, count in refused.value.reasons.items()}


def forced(host: str = "h1") -> HostRemoved:
    service_force_down(host=host, forced_down=True)
    return host_remove(host=host, force=True)


def test_removed_host_leaves_nothing() -> None:
    who = world.cloud("h1", "h2")
    node = ComputeNode.objects.get(host="h1").pk
    aggregate_host_add(aggregate_id=aggregate_create(name="ssd", metadata={}).pk, host="h1")
    credential_set(host="h1", secret_digest=SECRET)
    enrolment_create(host="h1")
    host_ownership_claim(host="h1", agent_id=AGENT, guests=[])
    build_failure_count(host="h1", reason="no disk")
    PciDevice.objects.create(
        compute_node_id=node, address="0000:81:00.1", vendor_id="8086", product_id="1", dev_type="x"
    )
    provider_ensure(uuid.uuid4(), "h1-pci", node)
    OrphanGuest.objects.create(host="h1", guest_uuid=uuid.uuid4(), first_seen_at=now_plus(0), last_seen_at=now_plus(0))
    down()
    removed = host_remove(host="h1", operator=Operator(who.admin.user_id, "root"))
    assert removed == HostRemoved("h1", providers=2, aggregates=("ssd",))
    for model in (Service, ComputeNode, HostMapping, AggregateHost, BuildFailures, PciDevice, OrphanGuest):
        assert not model._default_manager.filter(**{_host_field(model): "h1"}).exists()
    assert list(ResourceProvider.objects.values_list("name", flat=True)) == ["h2"]
    for model in (Inventory, ProviderTrait, ProviderAggregate):
        assert not model._default_manager.exclude(provider__name="h2").exists()
    assert not AgentCredential.objects.exists()
    assert not AgentEnrolment.objects.filter(expires_at__gt=now_plus(1)).exists()
    assert "Removed by root." in LogEntry.objects.get().change_message
    with pytest.raises(NotFound):
        host_remove(host="h1")


def _host_field(model: type) -> str:
    return "compute_node__host" if model is PciDevice else "host"


@pytest.mark.parametrize("host", ["h9", "", "h\0"])
def test_host_that_is_not_there_is_not_found(host: str) -> None:
    with pytest.raises(NotFound):
        host_remove(host=host)


def test_host_that_enrolled_and_never_registered_is_removed() -> None:
    world.cloud()
    enrolment_redeem(host="h9", token=enrolment_create(host="h9").token, secret_digest=SECRET)
    host_ownership_claim(host="h9", agent_id=AGENT, guests=[])
    assert host_remove(host="h9") == HostRemoved("h9", providers=0, aggregates=())
    assert credential_host(SECRET) is None
    assert not AgentCredential.objects.exists()
    with pytest.raises(Conflict, match="was removed"):
        host_ownership_claim(host="h9", agent_id=AGENT, guests=[])
    with pytest.raises(NotFound):
        host_remove(host="h9")


def test_host_that_has_a_token_alone_is_removed_with_it() -> None:
    token = enrolment_create(host="h9").token
    host_remove(host="h9")
    with pytest.raises(Forbidden):
        enrolment_redeem(host="h9", token=token, secret_digest=SECRET)


def test_host_that_takes_instances_is_not_removed_and_a_disabled_one_is() -> None:
    world.cloud("h1")
    assert reasons_of() == {RemovalReason.TAKES_INSTANCES: 1}
    service_disable(host="h1", reason="goes")
    host_remove(host="h1")
    assert not Service.objects.exists()


def test_instances_and_work_refuse_with_their_numbers_and_names() -> None:
    who = world.cloud("h1")
    for name in ("a", "b", "c", "d", "e", "f"):
        world.create(who.member, name)
    world.pump()
    down()
    with pytest.raises(RemovalRefused) as refused:
        host_remove(host="h1")
    held = Work.objects.filter(queue="compute.h1").count()
    assert refused.value.reasons == {
        RemovalReason.INSTANCES: held,
        RemovalReason.WORK: held,
    }
    assert held == 6
    assert refused.value.extra["obstacles"][0]["names"] == ["a", "b", "c", "d", "e"]
    assert (
        "6 instances are on it (a, b, c, d, e, ...). 6 pieces of work are under way (build 6)." in refused.value.message
    )
    assert len(allocations_by_consumer()) == 6


def test_refusal_leaves_the_agent_its_host() -> None:
    world.cloud("h1")
    credential_set(host="h1", secret_digest=SECRET)
    host_ownership_claim(host="h1", agent_id=AGENT, guests=[])
    before = list(NamedLease.objects.values_list("name", "owner"))
    reasons_of()
    assert credential_host(SECRET) == "h1"
    assert list(NamedLease.objects.values_list("name", "owner")) == before


@pytest.mark.parametrize("force", [False, True])
def test_claim_of_an_instance_that_is_being_scheduled_refuses_even_force(*, force: bool) -> None:
    world.cloud("h1")
    node = ComputeNode.objects.get().pk
    consumer = uuid.uuid4()
    allocations_claim([Claim(consumer, uuid.uuid4(), uuid.uuid4(), {node: {"VCPU": 1}})])
    service_force_down(host="h1", forced_down=True)
    assert reasons_of(force=force) == {RemovalReason.ALLOCATIONS: 1}
    assert Allocation.objects.count() == 1


def test_force_is_for_a_host_that_is_forced_down_not_for_a_silent_one() -> None:
    world.cloud("h1")
    down()
    assert reasons_of(force=True) == {RemovalReason.NOT_FORCED_DOWN: 1}


def test_force_leaves_instances_without_host_and_frees_what_they_held() -> None:
    who = world.cloud("h1", "h2")
    service_disable(host="h2")
    running, stays = world.active(who.member, "one"), world.active(who.member, "two")
    removed = forced()
    assert {one.name for one in removed.instances_left} == {"one", "two"}
    assert (removed.allocations_freed, removed.work_ended) == (2, 0)
    assert not Allocation.objects.exists()
    assert not TopologyClaim.objects.exists()
    after = world.instance_of(running.pk)
    assert (after.vm_state, after.host) == ("active", "h1")
    drifts = {one.kind for one in drift_list(instance_id=running.pk)}
    assert drifts == {DriftKind.UNKNOWN_HOST, DriftKind.NO_ALLOCATIONS}
    (finding,) = placement_audit(instance=running.pk)
    assert (finding.fix, finding.obstacle) == (
        None,
        "Host h1 is not registered: there is nothing that the instance could hold.",
    )
    with pytest.raises(Conflict, match="host was removed"):
        instance_act(caller=who.member, instance_id=running.pk, action="stop")
    instance_delete(caller=who.member, instance_id=running.pk)
    assert world.instance_of(running.pk).deleted_at is not None
    assert world.instance_of(stays.pk).deleted_at is None
    assert not Work.objects.filter(state__in=["waiting", "running"]).exists()


def test_force_ends_work_by_its_rule_and_completes_deletions() -> None:
    who = world.cloud("h1")
    gone, stops = world.active(who.member, "gone"), world.active(who.member, "stops")
    builds = world.create(who.member, "builds")[0]
    world.pump()
    order = world.order("h1")
    instance_delete(caller=who.member, instance_id=gone.pk)
    instance_act(caller=who.member, instance_id=stops.pk, action="stop")
    removed = forced()
    assert (removed.work_ended, removed.deletions) == (3, 1)
    assert {one.name for one in removed.instances_left} == {"stops", "builds"}
    assert world.instance_of(gone.pk).deleted_at is not None
    assert (world.instance_of(stops.pk).vm_state, world.instance_of(stops.pk).task_state) == ("active", "")
    assert world.instance_of(builds.pk).vm_state == "error"
    assert "its host was removed" in InstanceFault.objects.get(instance_uuid=builds.pk).message
    with pytest.raises(Fenced):
        conductor_connect().build_done(lease=order.lease, facts=world.RUNNING)
    said = "is on h1, which is not registered, and holds nothing: enrol the host again, or delete the instance"
    assert [(one.invariant, one.message) for one in audit_findings()] == [(2, said), (2, said)]


def test_agent_of_a_removed_host_does_not_bring_it_back() -> None:
    world.cloud("h1")
    conductor = conductor_connect()
    conductor.host_own(host="h1", agent_id=AGENT, guests=[])
    service_disable(host="h1")
    host_remove(host="h1")
    report = world.REPORT
    for verb in (
        lambda: conductor.host_own(host="h1", agent_id=AGENT, guests=[]),
        lambda: conductor.register(host="h1", report=report),
        lambda: conductor.orphan_guests(host="h1", guests=[GuestOnHypervisor(AGENT, "x", PowerState.RUNNING)]),
        lambda: conductor.heartbeat(host="h1"),
        lambda: conductor.measures(host="h1", measures=HostMeasures(HostUsage(1, 1, 1, 1))),
    ):
        with pytest.raises(Conflict, match=r"was removed, so this agent serves no host|served by another agent"):
            verb()
    assert not Service.objects.exists()


def test_host_comes_back_anew_after_enrolment_and_takes_its_instances_up() -> None:
    who = world.cloud("h1")
    instance = world.active(who.member)
    conductor = conductor_connect()
    conductor.host_own(host="h1", agent_id=AGENT, guests=[str(instance.pk)])
    old_service, old_node = Service.objects.get().pk, ComputeNode.objects.get().pk
    old_token = enrolment_create(host="h1").token
    forced()
    with pytest.raises(Forbidden):
        enrolment_redeem(host="h1", token=old_token, secret_digest=SECRET)
    enrolment_redeem(host="h1", token=enrolment_create(host="h1").token, secret_digest=SECRET)
    conductor.host_own(host="h1", agent_id=AGENT, guests=[str(instance.pk)])
    conductor.register(host="h1", report=replace(world.REPORT, hypervisor_hostname="h1"))
    service, node = Service.objects.get(), ComputeNode.objects.get()
    assert service.pk != old_service
    assert node.pk != old_node
    assert not service.forced_down
    assert world.instance_of(instance.pk).compute_node_uuid == node.pk
    assert [one.uuid for one in conductor.instances_on_host(host="h1")] == [str(instance.pk)]
    for finding in placement_audit():
        finding_heal(finding)
    assert {one.provider_uuid for one in allocations_by_consumer()[instance.pk]} == {node.pk}
    assert placement_audit() == []
    assert [one.message for one in audit_findings()] == []


def test_other_directory_gets_the_name_of_a_removed_host_and_the_record_goes_after_a_year() -> None:
    world.cloud("h1")
    host_ownership_claim(host="h1", agent_id=AGENT, guests=[])
    down()
    host_remove(host="h1")
    NamedLease.objects.update(until=now_plus(-366 * 86400))
    enrolments_prune()
    assert not NamedLease.objects.exists()
    world.host("h1")
    host_ownership_claim(host="h1", agent_id=str(uuid.uuid4()), guests=[])
