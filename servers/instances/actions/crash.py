"""The rules of the actions that are about a crash of the guest: what follows one, and that somebody has seen it."""

from collections.abc import Mapping
from typing import Any

from computeagent.protocol.power import PowerState
from controlplane.identity.domain import Caller
from controlplane.kernel.texts import gettext_noop
from controlplane.kernel.texts import phrase as _
from servers.instances.actions.crash_policy import DEFAULT, CrashPolicy
from servers.instances.actions.rule import ActionGroup, ActionRule, Argument, ArgumentKind, Subject


def _set(_instance: Subject, _caller: Caller, arguments: Mapping[str, str]) -> Mapping[str, Any]:
    policy = arguments.get("policy", DEFAULT)
    return {"on_crash": "" if policy == DEFAULT else policy}


ON_CRASH = ActionRule(
    name="on_crash",
    title=gettext_noop("Set crash policy"),
    doing=gettext_noop("Being changed"),
    help=gettext_noop("Says whether its guest is started again when it crashed."),
    group=ActionGroup.POWER,
    policy="instances:act",
    guard="on_crash",
    notification="update",
    is_verb=True,
    arguments=(
        Argument(
            "policy",
            gettext_noop(
                "stop: it stays off until somebody starts it; restart: it is started again, a few times; default: as "
                "this installation is set."
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
    changes=lambda instance, _caller, _arguments: {} if instance.crash_is_seen else {"crash_is_seen": True},
)
