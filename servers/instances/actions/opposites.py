"""Actions that take one another back, as far as nothing was lost by them."""

from collections.abc import Mapping

from servers.instances.actions.images import SHELVE, UNSHELVE
from servers.instances.actions.lifecycle import RESTORE, SOFT_DELETE
from servers.instances.actions.power import PAUSE, RESUME, START, STOP, SUSPEND, UNPAUSE
from servers.instances.actions.record import LOCK, PROTECT, UNLOCK, UNPROTECT
from servers.instances.actions.rescue import RESCUE, UNRESCUE
from servers.instances.actions.rule import ActionRule

_BOTH_WAYS = (
    (START, STOP),
    (PAUSE, UNPAUSE),
    (SUSPEND, RESUME),
    (SHELVE, UNSHELVE),
    (LOCK, UNLOCK),
    (PROTECT, UNPROTECT),
)
_ONE_WAY = ((RESCUE, UNRESCUE), (SOFT_DELETE, RESTORE))

OPPOSITES: Mapping[str, ActionRule] = {
    **{one.name: other for one, other in _BOTH_WAYS},
    **{other.name: one for one, other in _BOTH_WAYS},
    **{one.name: other for one, other in _ONE_WAY},
}
"""By the name of the action that was done: the one that takes it back."""
