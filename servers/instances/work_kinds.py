"""The conductor's kinds of work. What a host's agent does is `WorkKind`, by the table of actions."""

SCHEDULE_AND_BUILD = "schedule_and_build"
RESCHEDULE = "reschedule"
SCHEDULE_UNSHELVE = "schedule_unshelve"
DRIFT_CHECK = "drift_check"
BULK_ACT = "bulk_act"
