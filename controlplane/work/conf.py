"""Settings of work and of the process tree that does it.

Times are seconds.
"""

from dataclasses import dataclass

from controlplane.infra.conf import options_now
from controlplane.kernel.settings import setting
from controlplane.kernel.texts import phrase as _


@dataclass(frozen=True, slots=True)
class WorkOptions:
    """How long work is owned, looked after and kept, and how much of its time a web process gives away."""

    conductor_workers: int = setting(2, _("Processes of the conductor that do work."), min_value=1)
    conductor_guard_silence_s: float = setting(
        10.0,
        _(
            "Seconds for which the guard of a conductor's processes may be silent before all of them end and are "
            "started again. While the whole machine stands still, nothing is counted."
        ),
        min_value=2,
    )
    conductor_canary_silence_s: float = setting(
        20.0,
        _(
            "Seconds without an answer of a worker that has nothing else to do, after which the processes of a "
            "conductor end and are started again, and /readyz says that no conductor answers."
        ),
        min_value=10,
    )
    stop_limit_s: float = setting(
        8.0,
        _("Seconds that the processes of the control plane have to end in when they are asked to, before a kill."),
        min_value=4,
    )
    lease_s: float = setting(30.0, _("Seconds a worker owns a piece of work before it must renew."), min_value=1)
    long_work_threads: int = setting(
        4,
        _("Downloads and conversions of images that one conductor does at the same time, beside its workers."),
        min_value=1,
    )
    long_work_each: int = setting(2, _("How many of them may be of one project."), min_value=1)
    reconcile_interval_s: float = setting(2.0, _("Seconds between looks for work that stood still."), min_value=0.1)
    work_retention_days: float = setting(
        90.0, _("Days for which ended work is kept for people to look at; 0: for ever.")
    )
    heal_retention_days: float = setting(
        30.0, _("Days for which the record of what was put right is kept; 0: for ever.")
    )
    ready_queue_age_s: float = setting(
        300.0,
        _("Not ready (/readyz) while some work of the conductor has waited for longer than this many seconds."),
        min_value=1,
    )
    ready_reconciler_silence_s: float = setting(
        30.0,
        _(
            "Not ready (/readyz) once nobody has held the reconciler's lease for this many seconds. "
            "A long round of clean-ups outlasts the lease."
        ),
        min_value=1,
    )
    ready_disk_free_mib: int = setting(
        64,
        _(
            "Not ready (/readyz) while fewer MiB are free on the disk of the database (where it is a file), of the "
            "state directory or of IMAGE_DIR."
        ),
        min_value=0,
    )
    ready_cache_s: float = setting(1.0, _("Seconds for which a web process answers /readyz with what it has."))
    answer_seconds_a_minute: float = setting(
        20.0,
        _(
            "Seconds a minute that one project may have a web process work out explanations, what would help, "
            "and replays, one of them at a time; 0: no bound."
        ),
    )


def work_options() -> WorkOptions:
    """The options as settings have them now."""
    return options_now(WorkOptions)
