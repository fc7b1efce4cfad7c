"""Rules of what only looks at an instance and changes nothing of it."""

from computeagent.protocol.work import WorkKind
from controlplane.kernel.texts import gettext_noop
from servers.instances.actions.record import ADMIN, OWNER
from servers.instances.actions.rule import ActionRule

SCREENSHOT = ActionRule(
    name="screenshot",
    title=gettext_noop("Screenshot"),
    doing=gettext_noop("Being looked at"),
    help=gettext_noop("Takes a picture of what is on its screen."),
    policy="instances:console",
    guard="screenshot",
    work=WorkKind.SCREENSHOT,
    deadline_s=60.0,
    passes_locks=frozenset({OWNER, ADMIN}),
)
