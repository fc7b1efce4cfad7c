"""Which policy the scheduler follows."""

from dataclasses import asdict
from typing import Any

from django.db.models import QuerySet

from scheduling.conf import scheduling_options
from scheduling.domain.policy import Policy, PolicyOptions, policy_from_dict
from scheduling.models import SchedulerPolicy

DEFAULTS = "defaults"


def policy_active() -> Policy:
    """The active version, or the defaults with the options of the settings. One query."""
    row = SchedulerPolicy.objects.filter(active=True).first()
    if row is None:
        return policy_from_dict({"options": _options_of_settings({})}, version=DEFAULTS)
    return policy_of_body(row.body, version=row.label)


def policy_of_body(body: dict[str, Any], *, version: str) -> Policy:
    """A policy from a row's body; options it does not name come from settings. Raises Invalid naming the field."""
    return policy_from_dict({**body, "options": _options_of_settings(body.get("options", {}))}, version=version)


def policy_list() -> QuerySet[SchedulerPolicy]:
    """All versions, the newest of each name first."""
    return SchedulerPolicy.objects.all()


def _options_of_settings(given: dict[str, Any]) -> dict[str, Any]:
    options = scheduling_options()
    from_settings = PolicyOptions(
        default_availability_zone=options.default_zone,
        limit_tenants_to_placement_aggregate=options.limit_tenants_to_placement_aggregate,
        placement_aggregate_required_for_tenants=options.placement_aggregate_required_for_tenants,
    )
    return {**asdict(from_settings), **given}
