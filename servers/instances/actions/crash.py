"""The rules of the actions that are about a crash of the guest: what follows one, and that somebody has seen it."""

from collections.abc import Mapping
from typing import Any

from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from controlplane.identity.domain import Caller
from controlplane.kernel.texts import gettext_noop
from controlplane.kernel.texts import phrase as _
from servers.instances.actions.crash_policy import DEFAULT, CrashPolicy
from servers.instances.actions.rule import (
    MOMENTS_S,
    ActionGroup,
    ActionRule,
    Argument,
    ArgumentKind,
    BulkAction,
    Step,
    Subject,
)

TRIGGER_CRASH_DUMP = ActionRule(
    name="trigger_crash_dump",
    title=gettext_noop("Crash dump"),
    doing=gettext_noop("Being interrupted"),
    help=gettext_noop(
        "Sends its guest an interrupt (NMI). A system that is set up for it, such as Linux with kdump, writes its "
        "memory to its own disk and starts again; others crash, or pass over it."
    ),
    loss=gettext_noop("The guest crashes: what it has not written to its disks is lost."),
    group=ActionGroup.REPAIR,
    policy="instances:act",
    guard="trigger_crash_dump",
    # As in Nova it is no task: nothing is kept from being done to the instance meanwhile.
    work=WorkKind.TRIGGER_CRASH_DUMP,
    steps=(Step("interrupting", gettext_noop("Interrupt the guest")),),
    notification="trigger_crash_dump",
    deadline_s=MOMENTS_S,
    is_verb=True,
)


def _set(_instance: Subject, _caller: Caller, arguments: Mapping[str, str]) -> Mapping[str, Any]:
    policy = arguments.get("policy", DEFAULT)
    return {"on_crash": "" if policy == DEFAULT else policy}


ON_CRASH = ActionRule(
    name="on_crash",
    title=gettext_noop("Set crash policy"),
    doing=gettext_noop("Being changed"),
    help=gettext_noop("Says whether its guest is started again when it crashed or hangs."),
    group=ActionGroup.POWER,
    policy="instances:act",
    guard="on_crash",
    notification="update",
    is_verb=True,
    arguments=(
        Argument(
            "policy",
            gettext_noop(
                "stop: it stays off until somebody starts it, or stands still where its watchdog paused it; restart: "
                "it is started again, a few times; default: as this installation is set."
            ),
            kind=ArgumentKind.CHOICE,
            is_required=True,
            choices=(DEFAULT, *CrashPolicy),
        ),
    ),
    changes=_set,
)


def _not_crashed(instance: Subject) -> str:
    return "" if instance.power_state == PowerState.CRASHED else _("Its guest has not crashed.")


CRASH_SEEN = ActionRule(
    name="crash_seen",
    title=gettext_noop("Mark crash as seen"),
    doing=gettext_noop("Being marked"),
    help=gettext_noop(
        "Lists its crash among what needs attention no more. Its journey keeps it, and the next crash is a new one."
    ),
    group=ActionGroup.POWER,
    policy="instances:act",
    guard="crash_seen",
    notification="update",
    is_verb=True,
    is_main=True,
    refusal=_not_crashed,
    bulk=BulkAction("crash_seen", "Mark the crashes of the chosen instances as seen"),
    changes=lambda instance, _caller, _arguments: {} if instance.crash_is_seen else {"crash_is_seen": True},
)
