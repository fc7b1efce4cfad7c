import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.plugins.errors import PluginFailed
from scheduling.engine import InventoryRow
from tests.units.scheduling.engine.nova_forms import SEEN
from tests.units.scheduling.worlds import chosen, flavor, group, host, policy, request, run, table, trace_reasons

HERE = "tests.units.scheduling.engine.nova_forms"
FLEET = table(*(host(f"h{at}", ram=InventoryRow(4096 * (at + 1))) for at in range(4)))


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    SEEN.clear()


@pytest.mark.parametrize("name", ["Icehouse", "IcehouseUnrelated"])
def test_filter_of_the_older_form_gets_the_mapping(name: str) -> None:
    asked = request(
        2,
        flavor=flavor(memory_mib=6000, vcpus=3, extra_specs={"a": "b"}),
        hints={"rack": ("h",), "shelf": ("x", "y")},
        ignore_hosts=("h3",),
        retry=(("h9", "n9"),),
        group=group("anti-affinity", hosts=("h1",)),
    )
    trace = run(FLEET, asked, policy(f"{HERE}.{name}"))
    assert trace_reasons(trace)["h0"] in {RefusalReason.PLUGIN_REFUSED, RefusalReason.RAM_SHORT}
    seen = SEEN[0]
    assert seen["instance_type"]["memory_mb"] == seen["request_spec"]["instance_type"]["memory_mb"] == 6000
    assert seen["instance_type"]["extra_specs"] == {"a": "b"}
    assert seen["request_spec"]["instance_properties"]["vcpus"] == 3
    assert seen["request_spec"]["num_instances"] == 2
    assert seen["scheduler_hints"] == {"rack": "h", "shelf": ["x", "y"]}
    assert (seen["ignore_hosts"], seen["force_hosts"], seen["force_nodes"]) == (["h3"], [], [])
    assert seen["retry"] == {"num_attempts": 2, "hosts": [["h9", "n9"]]}
    assert (seen["group_hosts"], seen["group_policies"]) == ({"h1"}, {"anti-affinity"})
    context = seen["context"]
    assert (context.project_id, context.is_admin, context.elevated().is_admin) == (asked.project_id, False, True)


@pytest.mark.parametrize("name", ["Emptiest", "EmptiestUnrelated"])
def test_filter_all_decides_over_all_hosts(name: str) -> None:
    trace = run(FLEET, request(), policy(f"{HERE}.{name}"))
    assert chosen(trace) == ["h3"]
    assert trace_reasons(trace) == dict.fromkeys(("h0", "h1", "h2"), RefusalReason.PLUGIN_REFUSED)
    refusal = trace.refusal_of(0)
    assert refusal is not None
    assert (refusal.detail, refusal.stage) == (name, name)
    assert isinstance(SEEN[0], dict) == (name == "EmptiestUnrelated")


def test_filter_all_may_call_the_base_class() -> None:
    trace = run(FLEET, request(), policy(f"{HERE}.FirstTwoOfThose"))
    assert set(trace_reasons(trace)) == {"h0", "h3"}


def test_filter_that_runs_once_per_request_is_not_asked_again() -> None:
    trace = run(FLEET, request(3), policy(f"{HERE}.OncePerRequest"))
    assert len(trace.selections) == 3
    assert SEEN == [["h0", "h1", "h2", "h3"]]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("PassesStrangers", "passed something that is no host"),
        ("PassesNothingAtAll", "NoneType"),
        ("RaisesInTheMiddle", "SystemExit"),
    ],
)
def test_filter_all_that_misbehaves_fails_the_request_with_its_name(name: str, words: str) -> None:
    with pytest.raises(PluginFailed, match=words) as caught:
        run(FLEET, request(), policy(f"{HERE}.{name}"))
    assert caught.value.extra["plugin"] == name
