"""Instances with pinned CPUs and devices, from the request to the end: claimed, moved, and always given back."""

import uuid
from typing import Any

import pytest

from computeagent.protocol.topology_json import host_from_dict
from computeagent.protocol.work import WorkKind
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import InvalidFields
from scheduling.models import ComputeNode, PciDevice, TopologyClaim
from servers.agent_api import conductor_connect
from servers.instances.services.delete import instance_delete
from servers.models import Flavor, Image, Instance
from servers.repair.services.audit import audit_findings
from servers.repair.services.claim_sweep import orphan_claims_free
from servers.trials.schedule_trial import TrialWanted, trial_simulate
from tests.services.scheduling.topology.topology_world import device
from tests.worlds.cloud import (
    People,
    active,
    cloud,
    create,
    fail_build,
    finish_builds,
    flavor,
    hosts_with_work,
    instance_of,
    order,
    pump,
)

# Agents of the small cloud close connections between their calls, which a test inside one transaction forbids.
pytestmark = pytest.mark.django_db(transaction=True)

ALIASES = '[{"name": "gpu", "vendor_id": "10de", "product_id": "1eb8"}]'
HOST: dict[str, Any] = {
    "dedicated_vcpus": 4,
    "numa_topology": host_from_dict({"cells": [{"id": 0, "cpuset": "4-7", "pcpuset": "0-3", "memory_mib": 8192}]}),
    "pci_devices": (device("0000:81:00.0"),),
}


@pytest.fixture
def people(transactional_db: None, settings: Any) -> People:
    settings.KILONOVA = {**settings.KILONOVA, "PCI_ALIASES": ALIASES}
    found = cloud("h1", "h2", **HOST)
    flavor("pinned", vcpus=2, extra_specs={"hw:cpu_policy": "dedicated", "pci_passthrough:alias": "gpu:1"})
    return found


def build(people: People) -> Instance:
    return active(people.member, flavor="pinned")


def delete(people: People, one: Instance) -> None:
    instance_delete(caller=people.member, instance_id=one.pk)
    taken = order(instance_of(one.pk).host, WorkKind.DELETE)
    conductor_connect().deleted(lease=taken.lease)


def pinned_on() -> dict[str, str]:
    rows = ComputeNode.objects.values_list("host", "numa_topology")
    return {host: topology["cells"][0].get("pinned_cpus", "") for host, topology in rows}


def test_running_instance_has_its_cpus_and_its_device(people: People) -> None:
    one = build(people)
    assert pinned_on()[one.host] == "0-1"
    assert list(PciDevice.objects.filter(owner_uuid=one.pk).values_list("state", flat=True)) == ["allocated"]


def test_agent_is_told_what_was_claimed(people: People) -> None:
    create(people.member, flavor="pinned")
    pump()
    guest = order(hosts_with_work()[0], WorkKind.BUILD).guest
    assert guest.numa_topology is not None
    assert guest.numa_topology.cells[0].pinning == ((0, 0), (1, 1))
    assert [each.address for each in guest.pci_devices] == ["0000:81:00.0"]


def test_deleted_instance_gives_all_back(people: People) -> None:
    delete(people, build(people))
    assert set(pinned_on().values()) == {""}
    assert set(PciDevice.objects.values_list("state", flat=True)) == {"available"}
    assert audit_findings() == []


def test_failed_build_moves_its_claim_to_the_next_host(people: People) -> None:
    (made,) = create(people.member, flavor="pinned")
    pump()
    first = instance_of(made.pk).host
    fail_build(first)
    pump()
    second = instance_of(made.pk).host
    assert second and second != first
    assert pinned_on() == {first: "", second: "0-1"}
    assert PciDevice.objects.get(owner_uuid=made.pk).compute_node.host == second


def test_build_that_fails_everywhere_leaves_nothing(people: People) -> None:
    (made,) = create(people.member, flavor="pinned")
    pump()
    while host := instance_of(made.pk).host:
        fail_build(host)
        pump()
    assert not TopologyClaim.objects.exists()
    assert set(pinned_on().values()) == {""}


def test_last_device_goes_to_one_and_the_verdict_tells_the_other(people: People) -> None:
    for _ in range(2):
        build(people)
    third = build(people)
    assert (third.vm_state, third.host) == ("error", "")
    assert TopologyClaim.objects.count() == 2


def test_sound_installation_has_no_findings(people: People) -> None:
    build(people)
    assert audit_findings() == []


def test_pinned_instance_without_claim_is_found(people: People) -> None:
    one = build(people)
    TopologyClaim.objects.all().delete()
    said = {(each.invariant, each.subject) for each in audit_findings()}
    assert (2, str(one.pk)) in said
    assert (1, str(ComputeNode.objects.get(host=one.host).pk)) in said


def test_topology_of_nobody_is_found_and_swept(people: People) -> None:
    one = build(people)
    TopologyClaim.objects.update(consumer_uuid=uuid.uuid4(), created_at=now_plus(-3600))
    assert 3 in {each.invariant for each in audit_findings()}
    orphan_claims_free()
    assert not TopologyClaim.objects.exists()
    assert pinned_on()[one.host] == ""


def test_unknown_alias_is_refused_at_create(people: People) -> None:
    flavor("odd", extra_specs={"pci_passthrough:alias": "fpga:1"})
    with pytest.raises(InvalidFields) as caught:
        create(people.member, flavor="odd")
    assert caught.value.errors == {"flavor": ["pci_passthrough:alias: there is no alias 'fpga'."]}


def test_contradicting_cpu_policies_are_refused_at_create(people: People) -> None:
    Flavor.objects.create(name="shared", vcpus=1, memory_mib=64, root_gib=1, extra_specs={"hw:cpu_policy": "shared"})
    Image.objects.update(properties={"hw_cpu_policy": "dedicated"})
    with pytest.raises(InvalidFields) as caught:
        create(people.member, flavor="shared")
    assert "hw_cpu_policy" in caught.value.errors["image"][0]


def test_trial_asks_for_the_same_devices(people: People) -> None:
    for _ in range(2):
        build(people)
    report = trial_simulate(caller=people.admin, wanted=TrialWanted(flavor="pinned", image="demo"))
    assert "lack free PCI devices" in report["verdict"]


def test_second_build_of_a_finished_batch_changes_nothing(people: People) -> None:
    build(people)
    before = pinned_on()
    pump()
    finish_builds()
    assert pinned_on() == before
