"""What runs on this host, besides the hypervisor: the agent, its protocol, the kernel, the operating system."""

import platform
from dataclasses import replace
from functools import cache

from computeagent.protocol.hosts import HostReport
from computeagent.protocol.wire import PROTOCOL_VERSION
from controlplane.kernel.version import VERSION

SERVICE_VERSION = 73
"""What this agent can do, in Nova's count of compute services: from 73 on, hosts report the trait OWNER_NOVA."""
OWNER_TRAIT = "OWNER_NOVA"


def with_versions(report: HostReport) -> HostReport:
    """The report with all versions, and the trait that this service version promises."""
    return replace(
        report,
        traits=tuple(sorted({*report.traits, OWNER_TRAIT})),
        versions=replace(
            report.versions,
            agent=VERSION,
            protocol=PROTOCOL_VERSION,
            service=SERVICE_VERSION,
            kernel=platform.release(),
            os=os_name(),
        ),
    )


@cache
def os_name() -> str:
    """As the distribution calls itself (`Debian GNU/Linux 13 (trixie)`)."""
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()
