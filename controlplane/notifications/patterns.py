"""Patterns of event types that people ask for most, with what they mean. Pages translate these."""

from controlplane.kernel.texts import gettext_noop

PATTERNS = (
    ("*", gettext_noop("everything")),
    ("*.error", gettext_noop("whatever failed")),
    ("instance.*", gettext_noop("instances: created, deleted, acted on, changed")),
    ("instance.create.*", gettext_noop("instances that are built")),
    ("scheduler.*", gettext_noop("requests to the scheduler")),
    ("compute_task.*", gettext_noop("builds that were given up")),
    ("service.*", gettext_noop("hosts that came, went, died, came back, or were switched")),
    ("volume.*", gettext_noop("volumes")),
    ("snapshot.*", gettext_noop("snapshots of volumes")),
    ("bulk_job.*", gettext_noop("bulk jobs that ended")),
)
