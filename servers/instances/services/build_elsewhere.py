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
DECLARED_DEAD = _("Its host was declared dead before it began.")
"""Why. Owners of instances may read both, so they name no host."""


def untaken_builds_leave(*, host: str, reason: str) -> int:
    """Send all of them to their next hosts, in one transaction. Returns how many."""
    with transaction.atomic():
        ended = untaken_end(queue=compute_queue(host), kind=WorkKind.BUILD, reason=reason)
        for work in ended:
            build_untaken_end(work, reason=reason)
    if ended:
        log.warning("%d builds that nobody had begun leave host %s: %s", len(ended), host, reason)
    return len(ended)
