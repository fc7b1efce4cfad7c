"""Declares the clean-ups of this app."""

from controlplane.work.jobs import chore_register
from scheduling.decisions.services.prune import decisions_prune
from scheduling.fleet.services.change_triggers import fleet_changes_prune


def chores_register() -> None:
    """Called once, when the apps are ready."""
    chore_register("old decisions", every_s=600.0, run=decisions_prune)
    chore_register("seen changes of the fleet", every_s=300.0, run=fleet_changes_prune)
