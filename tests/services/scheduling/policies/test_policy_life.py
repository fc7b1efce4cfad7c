"""Versions of the policy: draft, validated, active, retired; what decided never changes."""

import uuid
from typing import Any

import pytest
from django.test import override_settings

from controlplane.kernel.errors import Conflict, Invalid, InvalidFields, NotFound
from scheduling.models import SchedulerPolicy
from scheduling.policies.selectors.policies import attempts_allowed, policy_active
from scheduling.policies.services.policies import (
    policy_activate,
    policy_create,
    policy_deactivate,
    policy_delete,
    policy_retire,
    policy_rollback,
    policy_shadow_end,
    policy_shadow_start,
    policy_update,
    policy_validate,
)

pytestmark = pytest.mark.django_db


def validated(**body: Any) -> SchedulerPolicy:
    made = policy_create(body=body)
    assert policy_validate(policy_id=made.pk).valid
    made.refresh_from_db()
    return made


def active(**body: Any) -> SchedulerPolicy:
    return policy_create(body=body, activate=True)


def codes(body: Any) -> dict[str, str]:
    verdict = policy_validate(policy_id=policy_create(body=body).pk)
    assert not verdict.valid
    assert verdict.state == "draft"
    return {each.field: each.code for each in verdict.problems}


def fresh(row: SchedulerPolicy) -> SchedulerPolicy:
    return SchedulerPolicy.objects.get(pk=row.pk)


def test_new_version_is_a_draft_with_its_author_and_comment() -> None:
    made = policy_create(body={}, name="gpu", comment="try it", author="ada")
    assert (made.label, made.state, made.author, made.comment) == ("gpu-v1", "draft", "ada", "try it")


def test_each_name_counts_its_own_versions() -> None:
    labels = [policy_create(body={}, name=name).label for name in ("a", "a", "b")]
    assert labels == ["a-v1", "a-v2", "b-v1"]


@pytest.mark.parametrize("name", ["", "  ", "x" * 65])
def test_name_of_no_or_too_many_characters_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as caught:
        policy_create(body={}, name=name)
    assert caught.value.field == "name"


@pytest.mark.parametrize(
    "body", [[], "x", None, {"options": {"extra": {"a": float("nan")}}}, {"filters": ["x" * 70000]}]
)
def test_body_that_is_no_small_json_object_is_refused(body: Any) -> None:
    with pytest.raises(Invalid) as caught:
        policy_create(body=body)
    assert caught.value.field == "body"


def test_draft_does_not_count() -> None:
    policy_create(body={"host_subset_size": 3})
    assert policy_active().version == "defaults"


def test_draft_without_problems_becomes_validated_and_whole() -> None:
    row = validated(host_subset_size=3)
    assert (row.state, row.body["host_subset_size"], row.body["max_attempts"]) == ("validated", 3, 3)
    assert "default_availability_zone" in row.body["options"]


def test_weighers_keep_their_order() -> None:
    names = ["RAMWeigher", "CPUWeigher", "BuildFailureWeigher", "IoOpsWeigher"]
    active(weighers=dict.fromkeys(names, 1.5))
    assert [(one.name, one.multiplier) for one in policy_active().weighers] == [(name, 1.5) for name in names]


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({"filtres": []}, "filtres", "unknown_setting"),
        ({"filters": "ComputeFilter"}, "filters", "wrong_type"),
        ({"filters": ["ComputeFilter", "ComputeFilter"]}, "filters", "named_twice"),
        ({"filters": ["NoSuchFilter"]}, "filters.NoSuchFilter", "plugin_not_found"),
        ({"filters": ["scheduling.domain.policy.Policy"]}, "filters.scheduling.domain.policy", "plugin_not_allowed"),
        ({"filters": ["scheduling.filters.base.RefusalGroup"]}, "filters.scheduling", "plugin_not_allowed"),
        ({"filters": ["scheduling.filters.ram.RequestSpecView"]}, "filters.scheduling.filters.ram", "plugin_failed"),
        ({"weighers": {"NoSuchWeigher": 1}}, "weighers", "plugin_not_found"),
        ({"weighers": [{"name": "RAMWeigher"}, {"name": "RAMWeigher"}]}, "weighers", "named_twice"),
        ({"weighers": {"RAMWeigher": "much"}}, "weighers.RAMWeigher", "wrong_type"),
        ({"host_subset_size": 0}, "host_subset_size", "out_of_range"),
        ({"host_subset_size": 10_001}, "host_subset_size", "out_of_range"),
        ({"max_attempts": 101}, "max_attempts", "out_of_range"),
        ({"max_attempts": 1.5}, "max_attempts", "wrong_type"),
        ({"shuffle_best_same_weighed_hosts": 1}, "shuffle_best_same_weighed_hosts", "wrong_type"),
        ({"options": []}, "options", "wrong_type"),
        ({"options": {"max_io_ops_per_host": -1}}, "options.max_io_ops_per_host", "out_of_range"),
        ({"options": {"no_such": 1}}, "options.no_such", "unknown_setting"),
        ({"options": {"default_availability_zone": " "}}, "options.default_availability_zone", "empty"),
    ],
)
def test_validation_names_field_and_reason(body: dict[str, Any], field: str, code: str) -> None:
    found = codes(body)
    assert {code} == set(found.values())
    assert next(iter(found)).startswith(field)


def test_validation_tells_every_problem_at_once() -> None:
    found = codes({"filters": ["No", "Neither"], "weighers": {"A": "x", "B": "y"}, "options": {"a": 1, "b": 1}})
    wrong = ["filters.Neither", "filters.No", "options.a", "options.b", "weighers.A", "weighers.B"]
    assert list(found) == wrong


def test_draft_is_not_activated() -> None:
    made = policy_create(body={})
    with pytest.raises(Conflict):
        policy_activate(policy_id=made.pk)
    assert policy_active().version == "defaults"


def test_made_with_activate_it_counts_at_once() -> None:
    made = active(host_subset_size=2)
    assert (policy_active().version, policy_active().host_subset_size) == (made.label, 2)


def test_with_problems_nothing_is_made_or_activated() -> None:
    with pytest.raises(InvalidFields) as caught:
        active(filters=["NoSuchFilter"])
    assert list(caught.value.errors) == ["filters.NoSuchFilter"]
    assert not SchedulerPolicy.objects.exists()


def test_activation_retires_the_version_before() -> None:
    first, second = active(), active(host_subset_size=2)
    assert (fresh(first).state, fresh(second).state) == ("retired", "active")
    assert SchedulerPolicy.objects.filter(state="active").count() == 1


def test_activation_replaces_only_the_version_it_names() -> None:
    first, second = active(), validated()
    with pytest.raises(Conflict):
        policy_activate(policy_id=second.pk, replaces=None)
    with pytest.raises(Conflict):
        policy_activate(policy_id=second.pk, replaces=uuid.uuid4())
    policy_activate(policy_id=second.pk, replaces=first.pk)
    assert policy_active().version == second.label


def test_unknown_policy_is_not_activated_and_the_old_one_stays() -> None:
    kept = active()
    with pytest.raises(NotFound):
        policy_activate(policy_id=uuid.uuid4())
    assert policy_active().version == kept.label


def test_version_whose_plug_in_has_gone_is_not_activated_and_the_old_one_stays() -> None:
    kept, gone = active(), validated()
    SchedulerPolicy.objects.filter(pk=gone.pk).update(body={"filters": ["uninstalled.Filter"]})
    with pytest.raises(InvalidFields):
        policy_activate(policy_id=gone.pk)
    assert policy_active().version == kept.label


def test_activating_the_active_version_changes_nothing() -> None:
    made = active()
    policy_activate(policy_id=made.pk)
    assert fresh(made).activated_at == made.activated_at


@pytest.mark.parametrize("end", [lambda row: policy_retire(policy_id=row.pk), lambda row: policy_deactivate()])
def test_without_an_active_version_the_defaults_count(end: Any) -> None:
    made = active(host_subset_size=2)
    end(made)
    assert (policy_active().version, fresh(made).state) == ("defaults", "retired")


def test_draft_cannot_be_retired() -> None:
    made = policy_create(body={})
    with pytest.raises(Conflict):
        policy_retire(policy_id=made.pk)


def test_roll_back_is_to_the_version_retired_last() -> None:
    active(host_subset_size=1)
    second = active(host_subset_size=2)
    active(host_subset_size=3)
    assert policy_rollback().label == second.label
    assert policy_active().host_subset_size == 2


def test_roll_back_to_a_named_version() -> None:
    first = active(host_subset_size=1)
    active(host_subset_size=2)
    active(host_subset_size=3)
    policy_rollback(policy_id=first.pk)
    assert policy_active().version == first.label


def test_roll_back_only_to_what_was_retired() -> None:
    active()
    for row in (validated(), policy_create(body={})):
        with pytest.raises(Conflict):
            policy_rollback(policy_id=row.pk)
    with pytest.raises(Conflict):
        policy_rollback()


def test_draft_is_changed_and_its_revision_counts() -> None:
    made = policy_create(body={})
    changed = policy_update(policy_id=made.pk, revision=1, body={"host_subset_size": 2}, comment="more spread")
    assert (changed.body, changed.comment, changed.revision) == ({"host_subset_size": 2}, "more spread", 2)


def test_change_of_an_old_revision_is_refused() -> None:
    made = policy_create(body={})
    policy_update(policy_id=made.pk, comment="first")
    with pytest.raises(Conflict):
        policy_update(policy_id=made.pk, revision=1, comment="second")
    assert fresh(made).comment == "first"


def test_changed_body_must_be_validated_again() -> None:
    made = validated()
    assert policy_update(policy_id=made.pk, comment="only words").state == "validated"
    assert policy_update(policy_id=made.pk, body={}).state == "draft"


def test_validated_version_with_a_lost_plug_in_becomes_a_draft() -> None:
    made = validated()
    SchedulerPolicy.objects.filter(pk=made.pk).update(body={"filters": ["uninstalled.Filter"]})
    assert policy_validate(policy_id=made.pk).state == "draft"


@pytest.mark.parametrize("state", ["active", "retired", "shadow"])
def test_what_decided_or_ran_as_shadow_never_changes(state: str) -> None:
    made = validated() if state == "shadow" else active()
    if state == "shadow":
        policy_shadow_start(policy_id=made.pk, share=0.5)
        policy_shadow_end(policy_id=made.pk)
    if state == "retired":
        policy_deactivate()
    before = fresh(made).body
    with pytest.raises(Conflict):
        policy_update(policy_id=made.pk, body={"host_subset_size": 9})
    with pytest.raises(Conflict):
        policy_delete(policy_id=made.pk)
    assert fresh(made).body == before


def test_draft_is_deleted() -> None:
    policy_delete(policy_id=policy_create(body={}).pk)
    assert not SchedulerPolicy.objects.exists()


def test_shadow_is_one_and_takes_the_place_of_another() -> None:
    first, second = validated(), validated()
    policy_shadow_start(policy_id=first.pk, share=0.25)
    policy_shadow_start(policy_id=second.pk, share=1.0)
    assert [(row.shadow, row.shadow_share) for row in (fresh(first), fresh(second))] == [(False, 0.0), (True, 1.0)]


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), float("inf")])
def test_share_outside_of_0_to_1_is_refused(share: float) -> None:
    with pytest.raises(Invalid) as caught:
        policy_shadow_start(policy_id=validated().pk, share=share)
    assert caught.value.field == "share"


def test_neither_a_draft_nor_the_active_version_is_a_shadow() -> None:
    for row in (policy_create(body={}), active()):
        with pytest.raises(Conflict):
            policy_shadow_start(policy_id=row.pk, share=1.0)


def test_activated_shadow_is_no_shadow_any_more() -> None:
    made = validated()
    policy_shadow_start(policy_id=made.pk, share=1.0)
    policy_activate(policy_id=made.pk)
    assert (fresh(made).state, fresh(made).shadow) == ("active", False)


def test_attempts_are_those_of_the_active_policy() -> None:
    assert attempts_allowed() == 3
    active(max_attempts=5)
    assert attempts_allowed() == policy_active().max_attempts == 5


def test_attempts_without_a_policy_are_those_of_the_settings(settings: Any) -> None:
    with override_settings(KILONOVA={**settings.KILONOVA, "MAX_ATTEMPTS": 7}):
        assert attempts_allowed() == policy_active().max_attempts == 7
