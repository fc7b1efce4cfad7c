"""A filter in the per-host form that logs every attribute of the host state, and what the request wants.

A filter written for Nova looks the same: only the import of its base class differs.
"""

import logging

from scheduling.domain.hosts.host_state import HostState
from scheduling.domain.request.request_spec import RequestSpec
from scheduling.filters import BaseHostFilter

log = logging.getLogger(__name__)


class DumpFilter(BaseHostFilter):
    """Lets every host pass, and says what it saw."""

    def host_passes(self, host_state: HostState, spec_obj: RequestSpec) -> bool:
        """Log, then pass."""
        log.info("request wants memory_mb=%s vcpus=%s", spec_obj.memory_mb, spec_obj.vcpus)
        for name, value in sorted(vars(host_state).items()):
            log.info("%s: %s = %r", host_state.host, name, value)
        return True
