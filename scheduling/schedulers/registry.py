"""Schedulers by name: ours, those of installed packages (entry points `kilonova.schedulers`), and dotted paths."""

from functools import cache

from controlplane.kernel.texts import phrase as _
from scheduling.domain.plugins.errors import PluginFailed
from scheduling.domain.plugins.guard import plugin_guard
from scheduling.domain.plugins.loading import PluginRegistry
from scheduling.domain.policy import Policy
from scheduling.schedulers.base import HasSchedule, Scheduler
from scheduling.schedulers.caching_scheduler import CachingScheduler
from scheduling.schedulers.chance_scheduler import ChanceScheduler
from scheduling.schedulers.filter_scheduler import FilterScheduler
from scheduling.schedulers.foreign import ForeignScheduler

ENTRY_POINTS = "kilonova.schedulers"

BUILT_IN: dict[str, type[Scheduler]] = {
    "caching_scheduler": CachingScheduler,
    "chance_scheduler": ChanceScheduler,
    "filter_scheduler": FilterScheduler,
}


def _adapt(plugin: Scheduler | HasSchedule) -> Scheduler:
    return plugin if isinstance(plugin, Scheduler) else ForeignScheduler(plugin)


REGISTRY = PluginRegistry("scheduler", ENTRY_POINTS, BUILT_IN, Scheduler, ("schedule",), _adapt)


@cache
def scheduler_get(name: str) -> Scheduler:
    """The scheduler a policy calls `name`. Raises PluginNotFound or PluginFailed."""
    return REGISTRY.load(name)


def scheduler_names() -> tuple[str, ...]:
    """All names that can be enabled without a dotted path."""
    return REGISTRY.names()


def policy_plugins(policy: Policy) -> Policy:
    """The filters and weighers that count under this policy: its scheduler may go by others than it names.

    Raises PluginNotFound or PluginFailed.
    """
    from_whom = scheduler_get(policy.scheduler)
    if policy.scheduler in BUILT_IN:
        return from_whom.rules(policy)
    return foreign_rules(policy, from_whom)


def foreign_rules(policy: Policy, scheduler: Scheduler) -> Policy:
    """What somebody else's scheduler says its rules are. Raises PluginFailed, with its name, whatever it raised."""
    with plugin_guard("scheduler", policy.scheduler):
        found: object = scheduler.rules(policy)
    if not isinstance(found, Policy):
        raise PluginFailed(
            _("the rules of the scheduler {scheduler} are no policy", scheduler=policy.scheduler),
            plugin=policy.scheduler,
        )
    return found
