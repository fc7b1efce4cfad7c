"""Declares the kinds of work of this app: who does them, and what happens when one passes its deadline."""

from computeagent.protocol.work import WorkKind
from controlplane.identity.services import tokens_purge_expired
from controlplane.identity.services.sessions import admin_log_prune, sessions_prune
from controlplane.work.heals import heals_prune
from controlplane.work.jobs import kind_register, package_kind_register, periodic_task_register
from controlplane.work.prune import work_prune
from scheduling.fleet.services.build_failures import build_failures_round
from servers.agent_api.credentials import enrolments_prune
from servers.conductor.build import schedule_and_build, schedule_and_build_overdue
from servers.conductor.reschedule import reschedule, reschedule_overdue
from servers.images.services.image_store import image_files_sweep
from servers.instances import work_kinds
from servers.instances.actions.table import HOST_ACTIONS
from servers.instances.services.act import action_overdue
from servers.instances.services.build_outcome import build_overdue
from servers.instances.services.delete import delete_overdue
from servers.instances.services.guest_counters import guest_counters_prune
from servers.instances.services.prune import deleted_images_prune, deleted_instances_prune
from servers.instances.services.reclaim import soft_deleted_reclaim
from servers.repair.services.claim_sweep import orphan_claims_free
from servers.repair.services.drift import drift_check, drift_check_overdue, guest_drift_round, placement_drift_round
from servers.repair.services.drift_sources import drift_sources_register
from servers.repair.services.task_heal import overdue_tasks_heal


def kinds_register() -> None:
    """Called once, when the apps are ready. What agents do has no handler here."""
    package_kind_register(work_kinds.SCHEDULE_AND_BUILD, handler=schedule_and_build, overdue=schedule_and_build_overdue)
    kind_register(work_kinds.RESCHEDULE, handler=reschedule, overdue=reschedule_overdue)
    kind_register(WorkKind.BUILD, handler=None, overdue=build_overdue)
    kind_register(WorkKind.DELETE, handler=None, overdue=delete_overdue)
    kind_register(work_kinds.DRIFT_CHECK, handler=drift_check, overdue=drift_check_overdue)
    periodic_task_register("orphan claims", every_s=15.0, run=orphan_claims_free)
    periodic_task_register("overdue tasks", every_s=30.0, run=overdue_tasks_heal)
    periodic_task_register("failed builds", every_s=60.0, run=build_failures_round)
    periodic_task_register("drift of guests", every_s=30.0, run=guest_drift_round)
    periodic_task_register("drift of allocations", every_s=120.0, run=placement_drift_round)
    drift_sources_register()
    periodic_task_register("old heals", every_s=3600.0, run=heals_prune)
    periodic_task_register("old work", every_s=3600.0, run=work_prune)
    periodic_task_register("image files", every_s=600.0, run=image_files_sweep)
    periodic_task_register("expired tokens", every_s=3600.0, run=tokens_purge_expired)
    periodic_task_register("deleted instances", every_s=3600.0, run=deleted_instances_prune)
    periodic_task_register("old counters", every_s=300.0, run=guest_counters_prune)
    periodic_task_register("deleted images", every_s=3600.0, run=deleted_images_prune)
    periodic_task_register("old enrolments", every_s=86400.0, run=enrolments_prune)
    periodic_task_register("expired sessions", every_s=3600.0, run=sessions_prune)
    periodic_task_register("admin log", every_s=86400.0, run=admin_log_prune)
    periodic_task_register("soft-deleted instances", every_s=30.0, run=soft_deleted_reclaim)
    for kind in HOST_ACTIONS:
        kind_register(kind, handler=None, overdue=action_overdue)
