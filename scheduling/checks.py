"""System checks: option values that would make every host look dead or unusable.

The bounds of one value are those of its declaration, for settings that a module of Python sets and no environment.
"""

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.core.checks import CheckMessage, Error

from controlplane.kernel.errors import Invalid
from controlplane.kernel.settings import bound_problems
from scheduling.conf import SchedulingOptions, scheduling_options
from scheduling.topology.domain.pci.alias import aliases_of_text

RATIOS = ("INITIAL_CPU_ALLOCATION_RATIO", "INITIAL_RAM_ALLOCATION_RATIO", "INITIAL_DISK_ALLOCATION_RATIO")


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
    for setting, text in bound_problems(options):
        problems.append(Error(text, id="scheduling.E002" if setting.name in RATIOS else "scheduling.E003"))
    if options.attestation_url and not options.attestation_url.startswith(("https://", "http://")):
        problems.append(Error("ATTESTATION_URL must begin with https:// or http://.", id="scheduling.E004"))
    problems += _alias_problems(options.pci_aliases)
    return problems


def _alias_problems(text: str) -> list[CheckMessage]:
    try:
        aliases_of_text(text)
    except Invalid as error:
        hint = 'For example PCI_ALIASES=[{"name": "gpu", "vendor_id": "10de", "product_id": "1eb8"}].'
        return [Error(f"PCI_ALIASES: {error.message}.", hint=hint, id="scheduling.E005")]
    return []


def check_options(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Entry point of Django's check framework."""
    return options_problems(scheduling_options())


def register_all() -> None:
    """Called once by the app config."""
    checks.register(check_options, "scheduling")
