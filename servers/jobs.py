"""Declares the kinds of work of this app: who does them, and what happens when one passes its deadline."""

from computeagent.protocol.volumes import VolumeWorkKind
from computeagent.protocol.work import WorkKind
from controlplane.audit_log.chain import CHAIN_EVERY_S, NOT_CHAINED, audit_log_prune, chain_extend
from controlplane.identity.services import tokens_purge_expired
from controlplane.identity.services.sessions import admin_log_prune, sessions_prune
from controlplane.work.heals import heals_prune
from controlplane.work.jobs import (
    conductor_thread_register,
    kind_register,
    package_kind_register,
    periodic_task_register,
)
from controlplane.work.prune import work_prune
from placement.services.counts import keys_prune
from scheduling.fleet.services.build_failures import build_failures_round
from servers.agent_api.credentials import enrolments_prune
from servers.agent_api.resend import RESEND_EVERY_S, host_wakeups_resend
from servers.agent_api.stranded_builds import stranded_builds_leave
from servers.bulk.services.jobs import bulk_jobs_prune
from servers.bulk.services.run import BULK_JOBS_OPEN, bulk_act, bulk_act_overdue, bulk_items_follow
from servers.conductor.build import schedule_and_build, schedule_and_build_overdue
from servers.conductor.reschedule import reschedule, reschedule_overdue
from servers.conductor.unshelve import unshelve_schedule, unshelve_schedule_overdue
from servers.consoles.services import console_sessions_sweep
from servers.images.domain.work_kinds import IMAGE_CONVERT, IMAGE_IMPORT
from servers.images.services.host_images import image_cache_round
from servers.images.services.image_convert import conversion_run
from servers.images.services.image_import import import_run
from servers.images.services.image_store import image_files_sweep
from servers.images.services.image_tasks import image_task_overdue
from servers.instances import work_kinds
from servers.instances.actions.table import HOST_ACTIONS
from servers.instances.services.act import action_overdue
from servers.instances.services.build_outcome import build_overdue
from servers.instances.services.delete import delete_overdue
from servers.instances.services.device_turns import SOME_WAIT, device_turns_round
from servers.instances.services.guest_counters import guest_counters_prune
from servers.instances.services.host_blame import blame_round
from servers.instances.services.prune import deleted_images_prune, deleted_instances_prune
from servers.instances.services.reclaim import soft_deleted_reclaim
from servers.instances.services.rescue_timeout import rescues_end
from servers.instances.services.screenshot import screenshot_overdue, screenshots_prune
from servers.instances.services.shelving import shelved_offload_round
from servers.instances.services.work_secrets import work_secrets_sweep
from servers.networks.ovn.start import ovn_run
from servers.networks.services.router_hosts import routers_round
from servers.repair.services.claim_sweep import orphan_claims_free
from servers.repair.services.drift import drift_check, drift_check_overdue, guest_drift_round, placement_drift_round
from servers.repair.services.drift_sources import drift_sources_register
from servers.repair.services.task_heal import overdue_tasks_heal
from servers.repair.services.volume_heal import stuck_volumes_heal
from servers.volumes.backups.removal import backups_round
from servers.volumes.services.limits import limits_round
from servers.volumes.services.retype import volumes_leave_round
from servers.volumes.services.transfers import transfers_sweep
from servers.volumes.services.work import volume_work_move
from servers.volumes.services.work_ends import volume_work_overdue


def kinds_register() -> None:
    """Called once, when the apps are ready. What agents do has no handler here."""
    package_kind_register(work_kinds.SCHEDULE_AND_BUILD, handler=schedule_and_build, overdue=schedule_and_build_overdue)
    kind_register(work_kinds.RESCHEDULE, handler=reschedule, overdue=reschedule_overdue)
    kind_register(work_kinds.SCHEDULE_UNSHELVE, handler=unshelve_schedule, overdue=unshelve_schedule_overdue)
    kind_register(WorkKind.BUILD, handler=None, overdue=build_overdue)
    kind_register(WorkKind.DELETE, handler=None, overdue=delete_overdue)
    kind_register(WorkKind.SCREENSHOT, handler=None, overdue=screenshot_overdue)
    kind_register(work_kinds.BULK_ACT, handler=bulk_act, overdue=bulk_act_overdue)
    kind_register(work_kinds.DRIFT_CHECK, handler=drift_check, overdue=drift_check_overdue)
    kind_register(IMAGE_IMPORT, handler=import_run, overdue=image_task_overdue)
    kind_register(IMAGE_CONVERT, handler=conversion_run, overdue=image_task_overdue)
    drift_sources_register()
    conductor_thread_register("ovn", ovn_run)
    for kind in HOST_ACTIONS:
        kind_register(kind, handler=None, overdue=action_overdue)
    _volumes_register()
    _periodic_tasks_register()


def _periodic_tasks_register() -> None:
    """Rounds over what waits for a time to pass."""
    periodic_task_register("orphan claims", every_s=15.0, run=orphan_claims_free)
    periodic_task_register("overdue tasks", every_s=30.0, run=overdue_tasks_heal)
    periodic_task_register("waiting changes of devices", every_s=30.0, run=device_turns_round, asks=SOME_WAIT)
    periodic_task_register("routers without a host", every_s=10.0, run=routers_round)
    periodic_task_register("failed builds", every_s=60.0, run=build_failures_round)
    periodic_task_register("builds of hosts that begin none", every_s=10.0, run=stranded_builds_leave)
    periodic_task_register("attempts to be counted", every_s=60.0, run=blame_round)
    periodic_task_register("drift of guests", every_s=30.0, run=guest_drift_round)
    periodic_task_register("drift of allocations", every_s=120.0, run=placement_drift_round)
    _records_register()
    periodic_task_register("image files", every_s=600.0, run=image_files_sweep)
    periodic_task_register("wake-ups of hosts", every_s=RESEND_EVERY_S, run=host_wakeups_resend)
    periodic_task_register("image cache requests", every_s=3600.0, run=image_cache_round)
    periodic_task_register("keys of server groups", every_s=3600.0, run=keys_prune)
    periodic_task_register("expired tokens", every_s=3600.0, run=tokens_purge_expired)
    periodic_task_register("deleted instances", every_s=3600.0, run=deleted_instances_prune)
    periodic_task_register("old counters", every_s=300.0, run=guest_counters_prune)
    periodic_task_register("deleted images", every_s=3600.0, run=deleted_images_prune)
    periodic_task_register("old enrolments", every_s=86400.0, run=enrolments_prune)
    periodic_task_register("expired sessions", every_s=3600.0, run=sessions_prune)
    periodic_task_register("admin log", every_s=86400.0, run=admin_log_prune)
    periodic_task_register("shelved instances", every_s=30.0, run=shelved_offload_round)
    periodic_task_register("rescues", every_s=30.0, run=rescues_end)
    periodic_task_register("soft-deleted instances", every_s=30.0, run=soft_deleted_reclaim)
    periodic_task_register("secrets of ended work", every_s=60.0, run=work_secrets_sweep)
    periodic_task_register("console sessions", every_s=30.0, run=console_sessions_sweep)
    periodic_task_register("expired screenshots", every_s=60.0, run=screenshots_prune)


def _volumes_register() -> None:
    for volume_kind in VolumeWorkKind:
        kind_register(volume_kind.value, handler=None, overdue=volume_work_overdue)
    periodic_task_register("volume work of hosts that are down", every_s=10.0, run=volume_work_move)
    periodic_task_register("volume backups", every_s=10.0, run=backups_round)
    periodic_task_register("limits of volumes", every_s=10.0, run=limits_round)
    periodic_task_register("what volumes left in pools", every_s=30.0, run=volumes_leave_round)
    periodic_task_register("volumes that stand still", every_s=30.0, run=stuck_volumes_heal)
    periodic_task_register("volume transfers that are over", every_s=60.0, run=transfers_sweep)


def _records_register() -> None:
    """What is written for people to look at later: it is chained, and goes when it is old."""
    periodic_task_register("old heals", every_s=3600.0, run=heals_prune)
    periodic_task_register("old work", every_s=3600.0, run=work_prune)
    periodic_task_register("bulk jobs", every_s=2.0, run=bulk_items_follow, asks=BULK_JOBS_OPEN)
    periodic_task_register("old bulk jobs", every_s=3600.0, run=bulk_jobs_prune)
    periodic_task_register("audit log chain", every_s=CHAIN_EVERY_S, run=chain_extend, asks=NOT_CHAINED)
    periodic_task_register("old audit log", every_s=3600.0, run=audit_log_prune)
