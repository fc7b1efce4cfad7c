"""The names of steps, actions and heals as people read them."""

from servers.instances.actions.table import ACTIONS, CREATE
from servers.repair.domain.drift import KIND_LABELS

STEPS = {
    **{step.name: step.title for rule in ACTIONS.values() for step in rule.steps},
    "select_destinations": "Choose a host",
    "reschedule": "Choose another host",
    "dispatch": "Hand over to the host",
}
BUILD_STEPS = len(CREATE.steps)
"""Steps of a build on a host: those that its progress counts."""

HEALS = {
    "overdue_work": "Ended: it was overdue",
    "overdue_task": "Ended: its task stood too long",
    "lost_task": "Task taken up after a restart",
    "orphan_claims": "Claim without owner given back",
    "host_disabled": "Host disabled: its builds failed",
    "host_enabled": "Host enabled again",
}

_DRIFTS = {kind.value: words for kind, words in KIND_LABELS.items()}


def plain_label(name: str) -> str:
    """Return the name in plain words: "powering-off" as "Powering off"."""
    return name.replace("_", " ").replace("-", " ").replace(".", " ").capitalize()


def step_label(name: str) -> str:
    """Return the name of a step of a build or action."""
    return STEPS.get(name, plain_label(name))


def action_label(name: str) -> str:
    """Return the name of an action, as its button has it."""
    return ACTIONS[name].title if name in ACTIONS else plain_label(name)


def heal_label(kind: str) -> str:
    """Return the name of what the control plane did by itself."""
    return HEALS.get(kind) or _DRIFTS.get(kind) or plain_label(kind)
