"""The names of steps, actions and heals as people read them, in the reader's language."""

from django.utils.translation import gettext

from computeagent.protocol.shut_down import PLUG_PULLED
from controlplane.kernel.texts import gettext_noop
from servers.instances.actions.lifecycle import CREATE
from servers.instances.actions.table import ACTIONS
from servers.instances.domain.state_reasons import INCIDENTS
from servers.repair.domain.drift import KIND_LABELS

STEPS = {
    **{step.name: step.title for rule in ACTIONS.values() for step in rule.steps},
    "select_destinations": gettext_noop("Choose a host"),
    "reschedule": gettext_noop("Choose another host"),
    "dispatch": gettext_noop("Hand over to the host"),
    PLUG_PULLED: gettext_noop("Plug pulled: it did not shut down in time"),
}
BUILD_STEPS = len(CREATE.steps)
"""Steps of a build on a host: those that its progress counts."""

HEALS = {
    "overdue_work": gettext_noop("Ended: it was overdue"),
    "overdue_task": gettext_noop("Ended: its task stood too long"),
    "lost_task": gettext_noop("Task taken up after a restart"),
    "orphan_claims": gettext_noop("Claim without owner given back"),
    "stuck_volume": gettext_noop("Volume ended that stood still"),
    "host_disabled": gettext_noop("Host disabled: its builds failed"),
    "host_enabled": gettext_noop("Host enabled again"),
}

_DRIFTS = {kind.value: words for kind, words in KIND_LABELS.items()}


def plain_label(name: str) -> str:
    """Return the name in plain words: "powering-off" as "Powering off"."""
    return name.replace("_", " ").replace("-", " ").replace(".", " ").capitalize()


def step_label(name: str) -> str:
    """Return the name of a step of a build or action."""
    return gettext(STEPS.get(name) or plain_label(name))


def action_label(name: str) -> str:
    """Return the name of an action, as its button has it."""
    return gettext(ACTIONS[name].title if name in ACTIONS else INCIDENTS.get(name) or plain_label(name))


def heal_label(kind: str) -> str:
    """Return the name of what the control plane did by itself."""
    return gettext(HEALS.get(kind) or _DRIFTS.get(kind) or plain_label(kind))


def failed_label(step: str) -> str:
    """Return what is said of a fault: what the guest did by itself, or the step that failed."""
    if step in INCIDENTS:
        return gettext(INCIDENTS[step])
    return gettext("%(step)s failed") % {"step": step_label(step) if step else gettext("Build")}
