"""Declares the clean-ups of this app, and the periodic tasks of schedulers."""

from controlplane.work.jobs import periodic_task_register
from scheduling.decisions.services.prune import decisions_prune
from scheduling.fleet.services.change_triggers import fleet_changes_prune
from scheduling.fleet.services.deaths import service_deaths_note
from scheduling.policies.selectors.policies import policy_active
from scheduling.schedulers.run import periodic_tasks_run


def scheduler_periodic_tasks() -> None:
    """Those of the scheduler that the active policy names."""
    periodic_tasks_run(policy_active())


def periodic_tasks_register() -> None:
    """Called once, when the apps are ready."""
    periodic_task_register("hosts that are down", every_s=5.0, run=service_deaths_note)
    periodic_task_register("old decisions", every_s=600.0, run=decisions_prune)
    periodic_task_register("periodic tasks of the scheduler", every_s=60.0, run=scheduler_periodic_tasks)
    periodic_task_register("seen changes of the fleet", every_s=300.0, run=fleet_changes_prune)
