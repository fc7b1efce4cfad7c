"""System checks: option values that would make every host look dead or unusable."""

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.core.checks import CheckMessage, Error

from scheduling.conf import SchedulingOptions, scheduling_options


def options_problems(options: SchedulingOptions) -> list[CheckMessage]:
    """What is wrong with these options, each with an id and a hint."""
    problems: list[CheckMessage] = []
    if options.service_down_time_s <= options.report_interval_s:
        problems.append(
            Error(
                f"SERVICE_DOWN_TIME_S ({options.service_down_time_s:g}) is not above "
                f"REPORT_INTERVAL_S ({options.report_interval_s:g}): healthy hosts would count as down.",
                hint="Six report intervals is a good value.",
                id="scheduling.E001",
            )
        )
    elif options.service_down_time_s < 2 * options.report_interval_s:
        problems.append(
            checks.Warning(
                "SERVICE_DOWN_TIME_S is below two report intervals: one lost heartbeat takes a host down.",
                id="scheduling.W001",
            )
        )
    ratios = (
        options.initial_cpu_allocation_ratio,
        options.initial_ram_allocation_ratio,
        options.initial_disk_allocation_ratio,
    )
    if min(ratios) <= 0:
        problems.append(Error("Initial allocation ratios must be above 0.", id="scheduling.E002"))
    if options.max_attempts < 1 or options.claim_rounds < 1:
        problems.append(Error("MAX_ATTEMPTS and CLAIM_ROUNDS must be at least 1.", id="scheduling.E003"))
    return problems


def check_options(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Entry point of Django's check framework."""
    return options_problems(scheduling_options())


def register_all() -> None:
    """Called once by the app config."""
    checks.register(check_options, "scheduling")
