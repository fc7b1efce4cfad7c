"""The pure parts of a claim: what a host gives, what is kept with an alternate, and how a loss reads."""

import uuid
from dataclasses import replace

from computeagent.protocol.pci import PciDeviceRecord
from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.hosts.topology_needs import (
    CPU_LIMIT,
    RAM_LIMIT,
    filters_wanted,
    may_have_topology,
    needs_from_dict,
    needs_to_dict,
    needs_within,
    topology_needs,
)
from scheduling.topology.domain.audit import device_findings
from scheduling.topology.domain.grant import Grant, NodeTopology, TopologyNeeds, grant
from scheduling.topology.domain.loss import loss_of
from scheduling.topology.domain.numa.cell_fit import Limits
from scheduling.topology.domain.numa.fit import FitNeeds
from scheduling.topology.domain.numa.network import NetworkNeeds
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.pool import NumaPolicy
from tests.units.scheduling.topology.numa.topologies import cell, guest, host, part
from tests.units.scheduling.worlds import request

ANY_GPU = PciRequest(1, ((("vendor_id", "10de"),),), "gpu", NumaPolicy.REQUIRED, "flavor-0")
CARDS = tuple(PciDeviceRecord(f"0000:8{at}:00.0", "10de", "1eb8", "type-PCI", at) for at in (0, 1))
TWO = host(cell(0), cell(1))
PINNED = request(specs={"hw:cpu_policy": "dedicated"})


def given(node: NodeTopology, needs: TopologyNeeds) -> Grant:
    found = grant(node, needs, "owner")
    assert isinstance(found, Grant)
    return found


def refused(node: NodeTopology, needs: TopologyNeeds) -> Refusal:
    found = grant(node, needs, "owner")
    assert isinstance(found, Refusal)
    return found


def test_grant_pins_and_leaves_the_rest() -> None:
    found = given(NodeTopology(TWO), TopologyNeeds(guest(part(pinned=2)), FitNeeds()))
    assert found.numa is not None
    assert found.left.host is not None
    assert found.left.host.cells[0].pinned_cpus == found.numa.cells[0].host_cpus == {0, 1}


def test_grant_takes_the_device_of_the_guests_cell() -> None:
    busy = host(cell(0, pinned_cpus=frozenset(range(4))), cell(1))
    found = given(NodeTopology(busy, CARDS), TopologyNeeds(guest(part(pinned=2)), FitNeeds(pci_requests=(ANY_GPU,))))
    assert [(each.address, each.alias, each.request_id) for each in found.devices] == [
        ("0000:81:00.0", "gpu", "flavor-0")
    ]


def test_device_far_from_every_fitting_cell_is_a_refusal() -> None:
    busy = host(cell(0, pinned_cpus=frozenset(range(4))), cell(1))
    found = refused(
        NodeTopology(busy, CARDS[:1]), TopologyNeeds(guest(part(pinned=2)), FitNeeds(pci_requests=(ANY_GPU,)))
    )
    assert found.reason is RefusalReason.PCI_NUMA_FAR


def test_each_device_answers_its_own_constraint() -> None:
    hw_request = tuple(replace(ANY_GPU, alias=name, request_id=name) for name in ("one", "two"))
    found = given(NodeTopology(None, CARDS), TopologyNeeds(None, FitNeeds(pci_requests=hw_request)))
    assert [each.alias for each in found.devices] == ["one", "two"]


def test_host_without_cells_is_refused_for_a_guest_with_some() -> None:
    found = refused(NodeTopology(None), TopologyNeeds(guest(part(pinned=2)), FitNeeds()))
    assert found.reason is RefusalReason.NUMA_TOPOLOGY_MISSING


def test_plain_request_needs_nothing() -> None:
    assert not topology_needs(request())
    assert not may_have_topology(request())
    assert needs_to_dict(topology_needs(request())) == {}


def test_needs_survive_being_kept() -> None:
    asked = replace(PINNED, pci_requests=(ANY_GPU,), networks=NetworkNeeds(frozenset({"net1"}), True))
    needs = topology_needs(asked, pack=True)
    assert needs_from_dict(needs_to_dict(needs)) == needs


def test_limits_of_a_selection_count() -> None:
    needs = needs_within(topology_needs(PINNED), {CPU_LIMIT: 4.0, RAM_LIMIT: 1.5})
    assert needs.fit.limits == Limits(4.0, 1.5)


def test_selection_without_limits_has_none() -> None:
    assert needs_within(topology_needs(PINNED), {}).fit.limits is None


def test_filters_that_the_claim_asks_for_are_added_once() -> None:
    asked = replace(PINNED, pci_requests=(ANY_GPU,))
    assert filters_wanted(("A", "PciPassthroughFilter"), asked) == ("A", "PciPassthroughFilter", "NUMATopologyFilter")


def test_plain_request_has_the_policys_filters() -> None:
    assert filters_wanted(("A",), request()) == ("A",)


def test_loss_has_reason_and_numbers() -> None:
    node = uuid.uuid4()
    loss = loss_of(node, Refusal(RefusalReason.PINNED_CPU_SHORT, wanted=4, available=1, detail="host cell 0"))
    assert (loss["compute_node_uuid"], loss["resource_class"], loss["wanted"], loss["free"]) == (
        str(node),
        "PCPU",
        4,
        1,
    )
    assert loss["sentence"] == "wants 4 pinned CPUs in one NUMA cell, 1 free (host cell 0)"


def test_device_given_twice_is_found_once() -> None:
    (found,) = device_findings({"a": ["0000:81:00.0"], "b": ["0000:81:00.0"]})
    assert (found.subject, "so has instance a" in found.message) == ("b", True)
