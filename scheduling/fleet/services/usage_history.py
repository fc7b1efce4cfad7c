"""The history of how busy hosts were: what a host reports, stored once a step."""

from computeagent.protocol.hosts import HostReport
from controlplane.infra.db import db_now
from scheduling.fleet.domain.usage_history import SPANS
from scheduling.fleet.services.measures import metrics_checked
from scheduling.models import HostUsageSample

STORED = (
    "at_s",
    "cpu_percent",
    "memory_percent",
    "disk_percent",
    "vcpus_used",
    "memory_used_mib",
    "disk_used_gib",
    "running_guests",
)


def host_usage_record(*, host: str, report: HostReport) -> None:
    """The report in place of what was there for this step, and for the same step a round ago; nothing of a host that
    measured nothing.
    """
    metrics = metrics_checked(report.metrics)
    if not metrics:
        return
    at_s = int(db_now().timestamp())
    samples = [
        HostUsageSample(
            host=host,
            step_s=span.step_s,
            slot=span.slot(at_s),
            at_s=at_s,
            cpu_percent=metrics.get("cpu.percent"),
            memory_percent=metrics.get("memory.percent"),
            disk_percent=metrics.get("disk.percent"),
            vcpus_used=report.vcpus_used,
            memory_used_mib=report.memory_used_mib,
            disk_used_gib=report.disk_used_gib,
            running_guests=report.running_guests,
        )
        for span in SPANS.values()
    ]
    HostUsageSample.objects.bulk_create(
        samples, update_conflicts=True, unique_fields=["host", "step_s", "slot"], update_fields=STORED
    )
