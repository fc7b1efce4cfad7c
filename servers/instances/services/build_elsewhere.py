"""Builds that wait at a host which will not build them go to another one. What an agent took stays where it is: nobody
knows what runs there.
"""

import logging

from django.db import transaction

from computeagent.protocol.work import WorkKind
from controlplane.kernel.texts import phrase as _
from controlplane.work.control import untaken_end
from controlplane.work.work import compute_queue
from servers.instances.services.build_outcome import build_untaken_end

log = logging.getLogger(__name__)
LOCKED_OUT = _("The agent of its host was locked out before it began.")
"""Owners of instances may read it, so it names no host."""


def untaken_builds_leave(*, host: str) -> int:
    """Send all of them to their next hosts, in one transaction. Returns how many."""
    with transaction.atomic():
        ended = untaken_end(queue=compute_queue(host), kind=WorkKind.BUILD, reason=LOCKED_OUT)
        for work in ended:
            build_untaken_end(work, reason=LOCKED_OUT)
    if ended:
        log.warning("%d builds that nobody had begun leave host %s, whose agent is locked out", len(ended), host)
    return len(ended)
