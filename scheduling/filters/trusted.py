"""TrustedFilter: what remote attestation says of the host's integrity. Source: Nova until 16."""

from typing import ClassVar

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter

TRUST_KEY = "trust:trusted_host"


class TrustedFilter(Filter):
    """Extra spec `trust:trusted_host` (trusted or untrusted) equals the level that the attestation service gave.

    A host it does not know, or all while it cannot be asked, are `unknown`, which equals neither. Without the extra
    spec every host passes.
    """

    run_filter_once_per_request: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts of another level."""
        wanted = spec.flavor.extra_specs.get(TRUST_KEY)
        if not wanted:
            return []

        def judge(level: str) -> Refusal | None:
            return None if level == wanted else Refusal(RefusalReason.TRUST_LEVEL, wanted=wanted, available=level)

        return hosts.refuse_by(hosts.table.trust_levels, judge)
