import pytest

from controlplane.kernel.errors import Invalid
from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.policy import PolicyOptions
from scheduling.domain.request.schedule_request import (
    CHECK_TYPE_HINT,
    RequestedNetwork,
    request_from_dict,
    request_to_dict,
)
from scheduling.engine import Destination
from scheduling.request_filters import REQUEST_FILTERS, Surroundings, filter_request
from tests.units.scheduling.worlds import aggregate, chosen, host, policy, request, run, table, trace_reasons

ZONE = aggregate("east", "a", availability_zone="az-east")
GPU = aggregate("gpu", "b", trait__HW_GPU="required")
OPTIONS = PolicyOptions(enable_isolated_aggregate_filtering=True, image_metadata_prefilter=True)
AROUND = Surroundings((ZONE, GPU), OPTIONS, min_service_version=73)
ASKED = request(
    availability_zone="az-east",
    specs={"accel:device_profile": "fpga"},
    properties={"hw_disk_bus": "virtio"},
    root_required=frozenset({"HW_OWN"}),
    member_of=(frozenset({"agg-own"}),),
)


def test_there_are_nova_s_fourteen_in_its_order_and_one_of_our_own() -> None:
    assert [each.__name__ for each in REQUEST_FILTERS] == [
        "require_tenant_aggregate",
        "map_az_to_placement_aggregate",
        "require_image_type_support",
        "compute_status_filter",
        "isolate_aggregates",
        "transform_image_metadata",
        "accelerators_filter",
        "packed_virtqueue_filter",
        "routed_networks_filter",
        "remote_managed_ports_filter",
        "ephemeral_encryption_filter",
        "virtio_sound_filter",
        "tpm_secret_security_filter",
        "owner_nova_filter",
        "guest_hardware_filter",
    ]


def test_request_has_all_that_was_added_beside_its_own() -> None:
    filtered = filter_request(ASKED, AROUND).request
    assert filtered.root_required == {
        "HW_OWN",
        "COMPUTE_ACCELERATORS",
        "COMPUTE_STORAGE_BUS_VIRTIO",
        "OWNER_NOVA",
    }
    assert filtered.root_forbidden == {"COMPUTE_STATUS_DISABLED"}
    assert filtered.member_of == (frozenset({"agg-own"}), frozenset({"agg-east"}))
    assert filtered.forbidden_aggregates == {"agg-gpu"}


def test_each_addition_is_kept_under_its_filter() -> None:
    assert list(filter_request(ASKED, AROUND).additions) == [
        "map_az_to_placement_aggregate",
        "compute_status_filter",
        "isolate_aggregates",
        "transform_image_metadata",
        "accelerators_filter",
        "owner_nova_filter",
    ]


def test_filtering_twice_changes_nothing_more() -> None:
    once = filter_request(ASKED, AROUND).request
    assert filter_request(once, AROUND).request == once


def test_rebuild_is_left_as_it_is() -> None:
    rebuild = request(hints={CHECK_TYPE_HINT: ("rebuild",)}, availability_zone="az-east")
    assert filter_request(rebuild, AROUND).request == rebuild


def test_filtered_request_survives_plain_values() -> None:
    networks = (RequestedNetwork("n", ("agg-a",), is_remote_managed=True), RequestedNetwork("m"))
    destination = Destination(cell="c", allow_cross_cell_move=True)
    filtered = filter_request(request(requested_networks=networks, requested_destination=destination), AROUND).request
    assert request_from_dict(request_to_dict(filtered)) == filtered


def test_host_without_a_required_trait_names_the_filter() -> None:
    fleet = table(host("a"), host("b", traits=frozenset({"COMPUTE_ACCELERATORS"})))
    trace = run(fleet, request(specs={"accel:device_profile": "fpga"}))
    refusal = trace.refusal_of(0)
    assert chosen(trace) == ["b"]
    assert refusal is not None
    assert (refusal.stage, refusal.reason) == ("request_filters", RefusalReason.TRAIT_MISSING)
    assert refusal.sentence() == "lacks the trait COMPUTE_ACCELERATORS (accelerators_filter)"


def test_host_of_an_isolated_aggregate_names_it() -> None:
    fleet = table(host("a"), host("b"), aggregates=(GPU,))
    trace = run(fleet, request(), policy(options=OPTIONS))
    refusal = trace.refusal_of(1)
    assert refusal is not None
    assert refusal.reason is RefusalReason.AGGREGATE_ISOLATED
    assert refusal.sentence() == "its aggregates gpu are for those who require their traits"


def test_root_traits_of_the_request_itself_count() -> None:
    fleet = table(host("a"), host("b", traits=frozenset({"HW_X"})), host("c", traits=frozenset({"HW_X", "HW_Y"})))
    asked = request(root_required=frozenset({"HW_X"}), root_forbidden=frozenset({"HW_Y"}))
    assert trace_reasons(run(fleet, asked)) == {"a": RefusalReason.TRAIT_MISSING, "c": RefusalReason.TRAIT_FORBIDDEN}


def test_owner_is_required_of_hosts_once_all_services_are_new_enough() -> None:
    new, old = {"version": 73}, {"version": 72}
    owned = frozenset({"OWNER_NOVA"})
    mixed = table(host("a", service=new, traits=owned), host("b", service=old), host("c", service=new))
    renewed = table(host("a", service=new, traits=owned), host("b", service={**old, "forced_down": True}))
    assert trace_reasons(run(mixed, request())) == {}
    assert trace_reasons(run(renewed, request())) == {"b": RefusalReason.TRAIT_MISSING}


def test_contradiction_fails_the_run() -> None:
    asked = request(specs={"hw:sound_model": "virtio"}, properties={"hw_sound_model": "usb"})
    with pytest.raises(Invalid):
        run(table(host("a")), asked)


def test_remarks_of_filters_are_in_the_trace() -> None:
    asked = request(properties={"hw_disk_bus": "teletype"})
    trace = run(table(host("a")), asked, policy(options=OPTIONS))
    assert trace.notes == ("COMPUTE_STORAGE_BUS_TELETYPE is not required of hosts: there is no such trait",)
