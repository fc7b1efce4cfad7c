"""Preview: the last requests under another policy, on the present fleet, without touching anything."""

import uuid
from typing import Any

import pytest

from controlplane.kernel.errors import Invalid, InvalidFields, NotFound
from placement.models import Allocation
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.errors import NoValidHost
from scheduling.fleet.services.service_states import service_disable
from scheduling.models import SchedulingDecision, ShadowResult
from scheduling.policies.selectors.policies import DEFAULTS
from scheduling.policies.selectors.preview import PolicyPreview, policy_preview
from scheduling.policies.services.policies import policy_create
from tests.services.scheduling.fleet.fleet_world import fleet, request
from tests.services.scheduling.policies.policy_world import BROKEN, NO_HOST, STACKING, uneven_fleet

pytestmark = pytest.mark.django_db


def asked(**changes: Any) -> None:
    destinations_select(request=request(**changes), inputs=scheduling_inputs())


def previewed(body: dict[str, Any], last: int = 50) -> PolicyPreview:
    return policy_preview(policy_id=policy_create(body=body).pk, last=last)


def findings(found: PolicyPreview) -> dict[str, int]:
    return {name: count for name, count in found.counts.items() if count}


def test_draft_like_the_defaults_changes_nothing() -> None:
    fleet(3)
    for _ in range(3):
        asked()
    assert findings(previewed({})) == {"same": 3}


def test_draft_that_stacks_goes_elsewhere() -> None:
    uneven_fleet()
    asked()
    found = previewed(STACKING)
    (case,) = found.cases
    assert (findings(found), case.decided_hosts, case.preview_hosts) == ({"elsewhere": 1}, ("cmp-00",), ("cmp-01",))


def test_draft_that_lets_nobody_pass_would_fail() -> None:
    fleet(2)
    asked()
    found = previewed(NO_HOST)
    assert findings(found) == {"would_fail": 1}
    assert found.cases[0].verdict.startswith("No host fits: ")


def test_draft_that_lets_more_pass_would_succeed() -> None:
    fleet(2)
    policy_create(body=NO_HOST, activate=True)
    with pytest.raises(NoValidHost):
        asked()
    found = previewed({})
    assert (findings(found), found.cases[0].stored_outcome) == ({"would_succeed": 1}, "no_valid_host")


def test_request_that_fits_nowhere_fails_under_both() -> None:
    fleet(2)
    with pytest.raises(NoValidHost):
        asked(memory_mib=9000)
    assert findings(previewed({})) == {"both_fail": 1}


def test_mistake_of_a_plug_in_is_told_and_stops_nothing() -> None:
    fleet(2)
    asked()
    asked()
    found = previewed(BROKEN)
    assert findings(found) == {"error": 2}
    assert "Broken" in found.cases[0].error


def test_only_the_last_decisions_are_replayed_newest_first() -> None:
    fleet(3)
    for _ in range(3):
        asked()
    newest = list(SchedulingDecision.objects.values_list("pk", flat=True)[:2])
    assert [case.decision_id for case in previewed({}, last=2).cases] == newest


def test_stored_fleet_is_what_it_was_then() -> None:
    uneven_fleet()
    asked()
    for host in ("cmp-00", "cmp-01"):
        service_disable(host=host, reason="new disks")
    found = previewed(STACKING)
    assert (found.basis, found.cases[0].against, findings(found)) == ("stored_fleet", DEFAULTS, {"elsewhere": 1})
    assert found.note.startswith("1 of 1 decisions ran again on the fleet that they saw")


def test_without_a_stored_fleet_both_policies_run_on_the_present_one_and_it_says_so() -> None:
    uneven_fleet()
    asked()
    SchedulingDecision.objects.update(snapshot="")
    policy_create(body={"host_subset_size": 1}, activate=True)
    found = previewed(STACKING)
    assert (found.basis, found.cases[0].against, findings(found)) == ("present_fleet", "default-v1", {"elsewhere": 1})
    assert "ran twice on the fleet as it is now, under default-v1 and under default-v2" in found.note


def test_present_fleet_knows_who_lives_where() -> None:
    fleet(2)
    first = request()
    destinations_select(request=first, inputs=scheduling_inputs())
    asked(hints={"different_host": first.instance_uuids})
    SchedulingDecision.objects.update(snapshot="")
    found = previewed({"filters": ["DifferentHostFilter"]}, last=1)
    assert found.cases[0].preview_hosts == ("cmp-01",)


def test_both_kinds_of_fleet_are_mixed_and_counted() -> None:
    fleet(2)
    asked()
    SchedulingDecision.objects.update(snapshot="")
    asked()
    found = previewed({})
    assert (found.basis, [case.basis for case in found.cases]) == ("mixed", ["stored_fleet", "present_fleet"])
    assert found.note.count("1 of 2 decisions") == 2


def test_preview_writes_nothing() -> None:
    uneven_fleet()
    asked()
    made = policy_create(body=STACKING)
    before = [list(model.objects.order_by("pk").values()) for model in (Allocation, SchedulingDecision, type(made))]
    policy_preview(policy_id=made.pk)
    assert before == [
        list(model.objects.order_by("pk").values()) for model in (Allocation, SchedulingDecision, type(made))
    ]
    assert not ShadowResult.objects.exists()


def test_wrong_body_is_refused_by_field() -> None:
    with pytest.raises(InvalidFields) as caught:
        previewed({"filters": ["NoSuchFilter"]})
    assert list(caught.value.errors) == ["filters.NoSuchFilter"]


@pytest.mark.parametrize("last", [0, 201])
def test_number_out_of_range_is_refused(last: int) -> None:
    with pytest.raises(Invalid):
        previewed({}, last=last)


def test_unknown_version_is_not_found() -> None:
    with pytest.raises(NotFound):
        policy_preview(policy_id=uuid.uuid4())
