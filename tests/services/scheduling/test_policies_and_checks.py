"""Policy versions, options and their checks."""

import pytest

from controlplane.kernel.errors import Invalid, NotFound
from scheduling.checks import options_problems
from scheduling.conf import SchedulingOptions, scheduling_options
from scheduling.domain.errors import PluginNotFound
from scheduling.models import SchedulerPolicy
from scheduling.selectors import policy_active
from scheduling.services import policy_activate, policy_create, policy_deactivate


@pytest.mark.django_db
def test_without_a_version_the_defaults_count() -> None:
    assert (policy_active().version, policy_active().options.default_availability_zone) == ("defaults", "nova")


@pytest.mark.django_db
def test_each_save_is_a_new_version_and_one_is_active() -> None:
    first = policy_create(body={}, activate=True)
    second = policy_create(body={"host_subset_size": 3}, activate=True)
    assert (first.version, second.version, policy_active().host_subset_size) == (1, 2, 3)
    assert SchedulerPolicy.objects.filter(active=True).count() == 1
    policy_activate(policy_id=first.pk)
    assert policy_active().version == "default-v1"
    policy_deactivate()
    assert policy_active().version == "defaults"


@pytest.mark.django_db
def test_unknown_policy_is_not_activated_and_the_old_one_stays() -> None:
    kept = policy_create(body={}, activate=True)
    with pytest.raises(NotFound):
        policy_activate(policy_id=type(kept)().pk)
    assert policy_active().version == kept.label


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"filtres": []}, Invalid),
        ({"weighers": {"RAMWeigher": "much"}}, Invalid),
        ({"host_subset_size": 0}, Invalid),
        ({"filters": ["NoSuchFilter"]}, PluginNotFound),
    ],
)
def test_bad_policy_is_refused(body: dict[str, object], error: type[Invalid]) -> None:
    with pytest.raises(error):
        policy_create(body=body)
    assert not SchedulerPolicy.objects.exists()


def test_options_of_the_settings_have_no_problem() -> None:
    assert options_problems(scheduling_options()) == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (SchedulingOptions(report_interval_s=10, service_down_time_s=10), "scheduling.E001"),
        (SchedulingOptions(report_interval_s=10, service_down_time_s=15), "scheduling.W001"),
        (SchedulingOptions(initial_cpu_allocation_ratio=0), "scheduling.E002"),
        (SchedulingOptions(max_attempts=0), "scheduling.E003"),
    ],
)
def test_options_that_cannot_work_are_named(options: SchedulingOptions, problem: str) -> None:
    assert [one.id for one in options_problems(options)] == [problem]
