"""Policy versions, options and their checks."""

import pytest

from scheduling.checks import options_problems
from scheduling.conf import SchedulingOptions, scheduling_options
from scheduling.policies.selectors.policies import policy_active


@pytest.mark.django_db
def test_without_a_version_the_defaults_count() -> None:
    assert (policy_active().version, policy_active().options.default_availability_zone) == ("defaults", "nova")


def test_options_of_the_settings_have_no_problem() -> None:
    assert options_problems(scheduling_options()) == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (SchedulingOptions(report_interval_s=10, service_down_time_s=10), "scheduling.E001"),
        (SchedulingOptions(report_interval_s=10, service_down_time_s=15), "scheduling.W001"),
        (SchedulingOptions(initial_cpu_allocation_ratio=0), "scheduling.E002"),
        (SchedulingOptions(max_attempts=0), "scheduling.E003"),
        (SchedulingOptions(max_attempts=101), "scheduling.E003"),
        (SchedulingOptions(pci_aliases="gpu"), "scheduling.E005"),
        (SchedulingOptions(pci_aliases='[{"name": "gpu"}]'), "scheduling.E005"),
    ],
)
def test_options_that_cannot_work_are_named(options: SchedulingOptions, problem: str) -> None:
    assert [one.id for one in options_problems(options)] == [problem]
