"""What would make it fit, for rules about what hosts are kept for: each change was run, and is told in words."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.engine import HostRow, ImageSnapshot, InventoryRow, PolicyOptions
from scheduling.whatif.domain.nearest_fit.change import ChangeKind
from scheduling.whatif.domain.nearest_fit.reasons import NO_CHANGE
from scheduling.whatif.domain.nearest_fit.search import Fit, fits_on_host
from scheduling.whatif.domain.nearest_fit.steps import PROPOSERS
from tests.units.scheduling.answer_worlds import trial, world
from tests.units.scheduling.worlds import aggregate, group, host, policy, request


def fits(row: HostRow, asked: dict[str, Any], *filters: str, aggregates: Any = (), **options: Any) -> list[Fit]:
    where = world(row, aggregates=aggregates)
    rules = replace(policy(*filters), options=PolicyOptions(**options))
    return fits_on_host(where, trial(request(**asked), rules), where.by_host[row.host])


def findings(found: list[Fit], kind: ChangeKind) -> list[str]:
    return [fit.sentence for fit in found if fit.kinds == {kind}]


def test_every_reason_has_changes_or_a_sentence_why_not() -> None:
    assert {*PROPOSERS, *NO_CHANGE} == set(RefusalReason)
    assert not PROPOSERS.keys() & NO_CHANGE.keys()


def test_isolated_host_is_opened_or_the_image_isolated() -> None:
    found = fits(host("a"), {}, "IsolatedHostsFilter", isolated_hosts=("a",), isolated_images=("other",))
    assert findings(found, ChangeKind.POLICY) == [
        "add the image image to the policy's isolated_images",
        "switch the filter IsolatedHostsFilter off",
        "switch the policy's restrict_isolated_hosts_to_isolated_images off",
    ]
    assert fits(host("a"), {}, "IsolatedHostsFilter", isolated_hosts=("a",))


def test_isolated_image_is_opened_or_the_host_isolated() -> None:
    found = fits(host("a"), {}, "IsolatedHostsFilter", isolated_images=("image-1",))
    assert findings(found, ChangeKind.POLICY) == [
        "add a to the policy's isolated_hosts",
        "switch the filter IsolatedHostsFilter off",
        "take the image image out of the policy's isolated_images",
    ]


def test_metric_that_is_not_reported_is_not_weighed_by() -> None:
    found = fits(host("a", metrics={"b": 1}), {}, "MetricsFilter", metrics_weight_setting={"a": 1.0, "b": 1.0})
    assert "do not weigh by the metric a" in findings(found, ChangeKind.POLICY)
    changed = next(fit for fit in found if fit.sentence.startswith("do not weigh"))
    assert changed.trial.policy.options.metrics_weight_setting == {"b": 1.0}


def test_trust_is_not_asked_for() -> None:
    found = fits(host("a"), {"specs": {"trust:trusted_host": "trusted"}}, "TrustedFilter")
    assert findings(found, ChangeKind.REQUEST) == ["use a flavor without the extra spec trust:trusted_host"]


@pytest.mark.parametrize(
    ("name", "row", "sentence"),
    [
        ("ExactRamFilter", {"ram": InventoryRow(4096)}, "ask for 4 GiB of memory instead of 2 GiB"),
        ("ExactCoreFilter", {"vcpu": InventoryRow(8, 4)}, "ask for 4 vCPU instead of 2"),
        ("ExactDiskFilter", {"disk": InventoryRow(40)}, "ask for 40 GiB of disk instead of 10 GiB"),
    ],
)
def test_exactly_what_is_free_is_asked_for(name: str, row: dict[str, InventoryRow], sentence: str) -> None:
    assert findings(fits(host("a", **row), {}, name), ChangeKind.REQUEST) == [sentence]


def test_group_of_more_members_on_a_host_is_used() -> None:
    row = host("a", instances=frozenset({"i1", "i2"}))
    members = group("anti-affinity", members=("i1", "i2"), max_server_per_host=2)
    found = fits(row, {"group": members}, "ServerGroupAntiAffinityFilter")
    assert "use a server group with max_server_per_host 3 instead of 2" in findings(found, ChangeKind.REQUEST)


def test_image_of_another_architecture_is_used_without_the_property() -> None:
    row = host("a", supported_instances=(("x86_64", "qemu", "hvm"),))
    asked = {"properties": {"hw_architecture": "aarch64", "os_distro": "debian"}}
    found = fits(row, asked, "ImagePropertiesFilter")
    assert findings(found, ChangeKind.REQUEST) == ["use an image without the property hw_architecture"]


def test_aggregate_for_other_images_takes_one_more_value() -> None:
    found = fits(
        host("a"),
        {"properties": {"os_distro": "debian"}},
        "AggregateImagePropertiesIsolation",
        aggregates=[aggregate("win", "a", os_distro="windows")],
    )
    assert findings(found, ChangeKind.REQUEST) == ["use an image without the property os_distro"]
    assert findings(found, ChangeKind.FLEET) == ["set os_distro of aggregate win to debian,windows"]


def test_aggregate_for_other_flavors_takes_one_more() -> None:
    kept = [aggregate("big", "a", instance_type="m9")]
    found = fits(host("a"), {}, "AggregateTypeAffinityFilter", aggregates=kept)
    assert findings(found, ChangeKind.FLEET) == ["set instance_type of aggregate big to m1,m9"]


def test_host_of_other_projects_is_opened_to_this_one() -> None:
    kept = [aggregate("theirs", "a", filter_tenant_id="other")]
    found = fits(host("a"), {}, "AggregateMultiTenancyIsolation", aggregates=kept)
    assert findings(found, ChangeKind.FLEET) == ["set filter_tenant_id_project-1 of aggregate theirs to project-1"]


def test_host_joins_an_aggregate_that_is_asked_for() -> None:
    where = world(host("a"), aggregates=[aggregate("fast", "b")])
    wanted = (frozenset({where.aggregates[0].uuid}),)
    found = fits_on_host(where, trial(request(member_of=wanted)), where.by_host["a"])
    assert findings(found, ChangeKind.FLEET) == ["add a to the aggregate fast"]


def test_host_leaves_an_aggregate_kept_for_a_trait_or_the_trait_is_required() -> None:
    found = fits(
        host("a", traits=frozenset({"CUSTOM_GPU"})),
        {},
        aggregates=[aggregate("gpu", "a", trait__CUSTOM_GPU="required")],
        enable_isolated_aggregate_filtering=True,
    )
    assert findings(found, ChangeKind.REQUEST) == ["require the trait CUSTOM_GPU"]
    assert findings(found, ChangeKind.FLEET) == ["take a out of the aggregate gpu"]


@pytest.mark.parametrize(
    ("metadata", "sentence"),
    [
        ({"x": "1"}, "set ssd of aggregate one to true"),
        ({"ssd": "false"}, "set ssd of aggregate one to false,true"),
    ],
)
def test_aggregate_is_told_what_the_flavor_asks_for(metadata: dict[str, str], sentence: str) -> None:
    sets = [aggregate("one", "a", **metadata)]
    found = fits(host("a"), {"specs": {"ssd": "true"}}, "AggregateInstanceExtraSpecsFilter", aggregates=sets)
    assert findings(found, ChangeKind.FLEET) == [sentence]


def test_limit_of_an_aggregate_is_raised_where_it_stands() -> None:
    sets = [aggregate("small", "a", max_instances_per_host="2")]
    found = fits(host("a", num_instances=2), {}, "AggregateNumInstancesFilter", aggregates=sets)
    assert findings(found, ChangeKind.FLEET) == ["raise max_instances_per_host of the aggregate small to 3"]
    assert findings(found, ChangeKind.POLICY) == ["switch the filter AggregateNumInstancesFilter off"]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"specs": {"os:secure_boot": "required"}}, "use a flavor without the extra spec os:secure_boot"),
        ({"specs": {"hw:virtio_packed_ring": "true"}}, "use a flavor without the extra spec hw:virtio_packed_ring"),
        ({"properties": {"os_secure_boot": "required"}}, "use an image without the property os_secure_boot"),
    ],
)
def test_key_that_leads_to_a_missing_trait_is_dropped(asked: dict[str, Any], sentence: str) -> None:
    assert findings(fits(host("a"), asked), ChangeKind.REQUEST) == [sentence]


def test_network_to_be_near_to_is_not_asked_for() -> None:
    hints = {"build_near_host_ip": ("10.1.1.1",), "cidr": ("/24",)}
    found = fits(host("a", host_ip="10.2.2.2"), {"hints": hints}, "SimpleCIDRAffinityFilter")
    assert findings(found, ChangeKind.REQUEST) == ["ask for no network to be near to"]


def test_query_is_dropped() -> None:
    found = fits(host("a"), {"hints": {"query": ('["=", "$host", "b"]',)}}, "JsonFilter")
    assert findings(found, ChangeKind.REQUEST) == ["drop the hint query"]


def test_image_whose_properties_are_not_in_question_is_left_alone() -> None:
    image = ImageSnapshot("image-1", "image", {"os_distro": "debian"})
    found = fits(host("a", enabled=False), {"image": image}, "ComputeFilter")
    assert findings(found, ChangeKind.REQUEST) == []
