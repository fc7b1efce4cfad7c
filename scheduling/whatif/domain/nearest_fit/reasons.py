"""Why nothing is offered against a refusal, for the reasons that no change of a trial can take away."""

from collections.abc import Mapping

from controlplane.kernel.reasons import RefusalReason
from controlplane.kernel.texts import gettext_noop

NO_CHANGE: Mapping[RefusalReason, str] = {
    RefusalReason.NO_CANDIDATE: gettext_noop(
        "Placement offers no way to take all of the request from this host and what it shares; which of its parts is "
        "in the way cannot be told by one change."
    ),
    RefusalReason.CLAIM_LOST: gettext_noop("Somebody else was faster. There is nothing to change: ask again."),
    RefusalReason.NUMA_NETWORK_FAR: gettext_noop(
        "The network card of this physical network is near other NUMA cells; only the host's hardware or its agent's "
        "settings can change that."
    ),
    RefusalReason.NOT_REQUESTED_HOST: gettext_noop(
        "The request names the host it wants. Asked about this host, the answer is as if it had named this one."
    ),
    RefusalReason.OTHER_FLAVOR_ON_HOST: gettext_noop(
        "TypeAffinityFilter keeps the host for the flavors that are there already; it opens when their instances are "
        "gone."
    ),
    RefusalReason.TRIED_BEFORE: gettext_noop(
        "It failed there in this very build. A new request may be placed there again."
    ),
}
