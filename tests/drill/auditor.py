"""The process that looks into the database for the harness: the audit's findings, and what is under way."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.db import Error, close_old_connections, connection
from django.db.models import F
from django.db.models.functions import Now

from controlplane.kernel.kill_points import stand_aside
from controlplane.work.models import NamedLease, Work
from controlplane.work.models.work import OPEN_STATES
from scheduling.models import PciDevice, Service
from servers.models import (
    BuildRequest,
    BulkJob,
    ConsoleSession,
    HostNetworkState,
    Instance,
    InstanceFault,
    OvnChange,
    Port,
    Volume,
    VolumeAttachment,
    VolumeBackup,
    VolumeSnapshot,
    WorkSecret,
)
from servers.networks.domain.names import VnicType
from servers.networks.ovn.audit import ovn_audit
from servers.networks.services.applied import CARRIED
from servers.repair.services.audit import audit_findings
from servers.states import VmState
from tests.drill.json_socket import server

BACKUP_FIELDS = ("id", "state", "fault", "parent_id", "upload_id", "size_bytes", "checksum")
FIELDS = ("id", "name", "host", "vm_state", "task_state", "power_state")


def main(arguments: list[str]) -> int:
    """Answer at the socket of the first argument until killed. A watcher is not among those who are struck."""
    stand_aside()
    server(Path(arguments[0]), answer).serve_forever()
    return 0


def answer(question: dict[str, Any]) -> Any:
    """One question; asked once more when the database went away under the first."""
    verb = QUESTIONS[question["ask"]]
    close_old_connections()
    try:
        return verb()
    except Error:
        connection.close()
        return verb()
    finally:
        connection.close()


def state() -> dict[str, Any]:
    """Instances that are not deleted, volumes and their backups, open work, jobs and consoles, requests, faults;
    hosts whose networks are not in force yet, the ports of instances, and the devices that they have.
    """
    live = Instance.objects.filter(deleted_at__isnull=True)
    work = Work.objects.filter(state__in=OPEN_STATES)
    columns = ("id", "queue", "kind", "subject", "state", "step", "attempt", "lease_owner", "outcome", "request_id")
    return {
        "instances": list(live.values(*FIELDS)),
        "work": list(work.values(*columns)),
        "volumes": list(Volume.objects.values("id", "name", "state", "fault", "size_gib", "source_id")),
        "snapshots": list(VolumeSnapshot.objects.values("id", "volume_id", "state", "fault")),
        "attachments": list(VolumeAttachment.objects.values("id", "volume_id", "instance_uuid", "state")),
        "backups": list(VolumeBackup.objects.values(*BACKUP_FIELDS)),
        "consoles": list(
            ConsoleSession.objects.filter(opened_at__isnull=False, ended_at__isnull=True).values(
                "id", "instance_uuid", "kind"
            )
        ),
        "bulk_jobs": list(BulkJob.objects.filter(finished_at__isnull=True).values("id", "kind", "action")),
        "requests": [str(one) for one in BuildRequest.objects.values_list("instance_uuid", flat=True)],
        "faults": {
            str(uid): f"{text} {details}"
            for uid, text, details in InstanceFault.objects.filter(
                instance_uuid__in=live.filter(vm_state=VmState.ERROR).values("pk")
            ).values_list("instance_uuid", "message", "details")
        },
        "networks": list(
            HostNetworkState.objects.filter(applied_revision__lt=F("wanted_revision")).values(
                "host", "wanted_revision", "applied_revision"
            )
        ),
        "ovn_changes": list(OvnChange.objects.values("subject", "subject_id", "attempts", "problem")),
        "secrets": [str(one) for one in WorkSecret.objects.values_list("pk", flat=True)],
        "devices": list(
            PciDevice.objects.filter(owner_uuid__isnull=False).values(
                "address", "owner_uuid", host=F("compute_node__host")
            )
        ),
        "ports": list(
            Port.objects.filter(instance_uuid__isnull=False, network__kind__in=CARRIED)
            .filter(vnic_type=VnicType.NORMAL)  # devices are behind no tap
            .values("id", "host", "instance_uuid")
        ),
    }


def hosts() -> dict[str, float]:
    """Seconds since each agent was last heard of."""
    rows = Service.objects.annotate(now=Now()).values_list("host", "last_seen_up", "now")
    return {host: (now - seen).total_seconds() if seen else -1.0 for host, seen, now in rows}


def findings() -> list[dict[str, Any]]:
    """The audit's, as `manage.py audit --json` prints them."""
    return [asdict(one) for one in audit_findings()]


def ovn() -> list[str]:
    """Where OVN's northbound database is not as rows say, compared now."""
    return list(ovn_audit().differences)


def periodic_tasks_due() -> int:
    """Make every clean-up due now: its lease says only that it ran lately, for thrift."""
    return NamedLease.objects.filter(name__startswith="periodic-").delete()[0]


QUESTIONS: dict[str, Callable[[], Any]] = {
    "state": state,
    "hosts": hosts,
    "findings": findings,
    "ovn": ovn,
    "periodic_tasks_due": periodic_tasks_due,
}
