"""Builds that nobody began on hosts that will begin none: their agent is locked out, or an admin declared them dead."""

from django.db.models import Q

from computeagent.protocol.work import WorkKind
from controlplane.work.control import hosts_with_untaken
from scheduling.fleet.selectors.liveness import hosts_silent
from servers.instances.services.build_elsewhere import DECLARED_DEAD, LOCKED_OUT, untaken_builds_leave
from servers.models import AgentCredential


def stranded_builds_leave() -> int:
    """Send them to their next hosts. Returns how many.

    A revocation does that for its host; this has what was sent there at that moment, or was cut off. A host that is
    silent, and no more, keeps its builds: its agent may be starting anew.
    """
    waiting = hosts_with_untaken(kind=WorkKind.BUILD)
    if not waiting:
        return 0
    is_locked_out = Q(revoked_at__isnull=False, host__in=waiting)
    reasons = dict.fromkeys(AgentCredential.objects.filter(is_locked_out).values_list("host", flat=True), LOCKED_OUT)
    dead = (host for host, silent in hosts_silent(waiting).items() if silent.is_forced_down)
    reasons |= dict.fromkeys(dead, DECLARED_DEAD)
    return sum(untaken_builds_leave(host=host, reason=reason) for host, reason in sorted(reasons.items()))
