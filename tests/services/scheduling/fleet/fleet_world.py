"""Small fleets for tests: hosts registered as their agents do it, requests with the flavor that matters."""

import uuid
from dataclasses import replace
from typing import Any

from computeagent.protocol.hosts import HostReport
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.fleet.facts import FleetFacts
from scheduling.fleet.services.hosts import host_register

PROJECT = uuid.UUID("11111111-0000-4000-8000-000000000001")
OTHER_PROJECT = uuid.UUID("11111111-0000-4000-8000-000000000002")
USER = uuid.UUID("22222222-0000-4000-8000-000000000001")
NO_FACTS = FleetFacts()
REPORT = HostReport(
    hypervisor_hostname="node",
    hypervisor_type="QEMU",
    hypervisor_version=9_000_000,
    vcpus=4,
    memory_mib=4608,
    disk_gib=100,
    disk_available_least_gib=90,
    supported_instances=(("x86_64", "qemu", "hvm"),),
    traits=("HW_CPU_X86_AVX2", "COMPUTE_NODE"),
)


def report(name: str = "node", **changes: Any) -> HostReport:
    """4 vCPUs, 4 GiB for guests after the 512 MiB that are reserved, 100 GiB of disk."""
    return replace(REPORT, hypervisor_hostname=name, **changes)


def fleet(count: int, **changes: Any) -> list[str]:
    """`count` hosts cmp-00, cmp-01, ... with the nodes node-00, node-01, ..."""
    hosts = [f"cmp-{number:02}" for number in range(count)]
    for host in hosts:
        host_register(host=host, report=report(host.replace("cmp", "node"), **changes))
    return hosts


def request(count: int = 1, *, memory_mib: int = 1024, vcpus: int = 1, **changes: Any) -> ScheduleRequest:
    """A batch of like instances with fresh uuids."""
    return ScheduleRequest(
        request_id="req-00000000-0000-4000-8000-000000000000",
        project_id=str(changes.pop("project_id", PROJECT)),
        user_id=str(USER),
        instance_uuids=tuple(str(uuid.uuid4()) for _ in range(count)),
        flavor=FlavorSnapshot(id="f", name="m1", vcpus=vcpus, memory_mib=memory_mib, root_gib=1),
        image=ImageSnapshot(id="i", name="demo"),
        num_alternates=changes.pop("num_alternates", 2),
        **changes,
    )
