"""The history of how busy hosts were: what a host reports, stored once a step."""

from computeagent.protocol.hosts import HostUsage
from controlplane.infra.db import db_now, rows_run
from scheduling.fleet.domain.usage_history import SPANS
from scheduling.fleet.services.measures import metrics_checked

_KEY = ("host", "step_s", "slot")
_STORED = (
    "at_s",
    "cpu_percent",
    "memory_percent",
    "disk_percent",
    "vcpus_used",
    "memory_used_mib",
    "disk_used_gib",
    "running_guests",
)
TYPES = ("text", *("bigint",) * 3, *("double precision",) * 3, *("bigint",) * 4)
# Without the ORM, as every agent reports each minute.
_STORE = (
    f"INSERT INTO scheduling_hostusagesample ({', '.join((*_KEY, *_STORED))}) {{rows}}"
    f" ON CONFLICT ({', '.join(_KEY)}) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _STORED)}"
)


def host_usage_record(*, host: str, metrics: dict[str, object], usage: HostUsage) -> None:
    """These in place of what was there for this step, and for the same step a round ago; nothing of a host that
    measured nothing.
    """
    measured = metrics_checked(metrics)
    if not measured:
        return
    at_s = int(db_now().timestamp())
    percents = [measured.get(f"{name}.percent") for name in ("cpu", "memory", "disk")]
    taken = [usage.vcpus, usage.memory_mib, usage.disk_gib, usage.running_guests]
    rows = [(host, span.step_s, span.slot(at_s), at_s, *percents, *taken) for span in SPANS.values()]
    rows_run(_STORE, rows, types=TYPES, has_result=False)
