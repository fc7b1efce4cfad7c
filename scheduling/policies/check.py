"""This module finds all that is wrong with a policy's body: for each problem the field, a code and a sentence."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from controlplane.kernel.errors import Invalid, KilonovaError
from scheduling.domain.plugins.errors import PluginNotFound
from scheduling.domain.policy import OUT_OF_RANGE, Policy, policy_from_dict
from scheduling.domain.zone_names import zone_name_problem
from scheduling.engine.schedule import validate_policy
from scheduling.filters.registry import filter_get
from scheduling.schedulers.registry import scheduler_get
from scheduling.weighers.registry import multiplier_check, weigher_get

PLUGIN_FAILED, EMPTY = "plugin_failed", "empty"


@dataclass(frozen=True, slots=True)
class PolicyProblem:
    """One thing for which a policy cannot be used. `field` is a path such as `weighers.RAMWeigher`.

    `code` is one of unknown_setting, wrong_type, out_of_range, named_twice, empty, plugin_not_found,
    plugin_not_allowed, plugin_failed.
    """

    field: str
    code: str
    message: str


def policy_problems(body: Mapping[str, Any]) -> tuple[PolicyProblem, ...]:
    """Every problem of a body, sorted by field; empty when it can be activated."""
    found = [problem for part in _parts(body) for problem in _problems_of(part)]
    return tuple(sorted(found, key=lambda problem: problem.field))


def _parts(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The body in pieces, so that one wrong piece does not hide the next."""
    for name, value in body.items():
        if name in ("options", "weighers") and isinstance(value, Mapping):
            yield from ({name: {key: each}} for key, each in value.items())
        elif name == "weighers" and isinstance(value, list) and not _is_any_twice(value):
            yield from ({name: [each]} for each in value)
        else:
            yield {name: value}


def _is_any_twice(weighers: list[Any]) -> bool:
    names = [each.get("name") if isinstance(each, Mapping) else None for each in weighers]
    return any(names.count(name) > 1 for name in names)


def _problems_of(part: dict[str, Any]) -> Iterator[PolicyProblem]:
    try:
        policy = policy_from_dict(part, version="checked")
    except Invalid as error:
        yield PolicyProblem(error.field or next(iter(part)), str(error.extra.get("reason", "invalid")), error.message)
        return
    if "scheduler" in part:
        yield from _scheduler(policy)
    if "filters" in part:
        yield from _filters(policy)
    if "weighers" in part:
        yield from _weighers(policy)
    if problem := zone_name_problem(policy.options.default_availability_zone):
        yield PolicyProblem("options.default_availability_zone", EMPTY, problem)


def policy_plugins_check(policy: Policy) -> None:
    """Raises PluginNotFound or PluginFailed if the scheduler, a filter or a weigher of the policy cannot be had,
    Invalid for a multiplier that its weigher does not allow.
    """
    scheduler_get(policy.scheduler)
    validate_policy(policy)


def _scheduler(policy: Policy) -> Iterator[PolicyProblem]:
    yield from _loads(scheduler_get, policy.scheduler, "scheduler")


def _filters(policy: Policy) -> Iterator[PolicyProblem]:
    for name in policy.filters:
        yield from _loads(filter_get, name, f"filters.{name}")


def _weighers(policy: Policy) -> Iterator[PolicyProblem]:
    for setting in policy.weighers:
        field = f"weighers.{setting.name}"
        failed = list(_loads(weigher_get, setting.name, field))
        yield from failed or _loads(partial(multiplier_check, multiplier=setting.multiplier), setting.name, field)


def _loads(get: Callable[[str], object], name: str, field: str) -> Iterator[PolicyProblem]:
    try:
        get(name)
    except PluginNotFound as error:
        yield PolicyProblem(field, error.code, error.message)
    except Invalid as error:
        yield PolicyProblem(field, OUT_OF_RANGE, error.message)
    except KilonovaError as error:
        yield PolicyProblem(field, PLUGIN_FAILED, error.message)
