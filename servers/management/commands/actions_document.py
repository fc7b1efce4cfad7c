"""`manage.py actions_document`: writes docs/actions.md from the table of actions, and from what shows each of them."""

from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from controlplane.identity.policy import DEFAULT_RULES
from servers.instances.actions.guards import ANY_VM, NO_TASK
from servers.instances.actions.rule import ActionRule
from servers.instances.actions.shown_by import SHOWN_BY, Shown
from servers.instances.actions.table import ACTIONS
from servers.states import TaskState, VmState

DOCUMENT = Path("docs/actions.md")
NONE = "-"

INTRODUCTION = """\
# The table of actions

<!-- Written by `manage.py actions_document`; edit the tables in servers/instances/actions, not this page. -->

What can be done to an instance, in which states it begins, and what there is afterwards. How each is asked for
stands in [the API](api.md#console-actions-journey-delete); how one is added in
[adding an action](adding-an-action.md).

*During*: the tasks that it may take the place of; where none is named, the instance must be idle. What waits behind a
task begins when that has ended. *Failed*: the state
where the host could not do it, if not the one before. *Shown by*: tests below `tests/`. *Seconds*: from the request to
the state afterwards, by `python -m bench.actions --undone` on two busy cores (the installation ran with realtime
priority), with one private libvirt daemon and guests that QEMU emulates. The demo image takes a second to shut down
when it is asked to, which is in the figures of what shuts a guest down first. Figures with "busy" were measured later,
without that priority and while other programs kept both cores busy: they stand for a loaded machine.

| action | who | begins in | during | tasks | ends in | failed | seconds | shown by |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


class Command(BaseCommand):
    """Writes the page; with --check it compares, and ends with status 1 when the page is not up to date."""

    help = __doc__
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """See --help."""
        parser.add_argument("--check", action="store_true", help="write nothing, compare")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write or compare."""
        page, text = Path(settings.BASE_DIR) / DOCUMENT, actions_document()
        if not options["check"]:
            page.write_text(text, encoding="utf-8")
        elif not page.exists() or page.read_text(encoding="utf-8") != text:
            raise CommandError(f"{DOCUMENT} is out of date: run manage.py actions_document")


def actions_document() -> str:
    """The whole page."""
    return INTRODUCTION + "".join(f"| {' | '.join(_cells(rule))} |\n" for rule in ACTIONS.values())


def _cells(rule: ActionRule) -> Iterable[str]:
    shown = SHOWN_BY[rule.name]
    return (
        f"`{rule.name}`",
        " or ".join(DEFAULT_RULES[rule.policy].words),
        _vm_states(rule.vm_states),
        f"waits behind {_during(rule.waits_behind)}" if rule.waits_behind else _during(rule.task_states),
        _tasks(rule),
        _ends_in(rule),
        _named([rule.vm_state_on_failure]),
        _seconds(shown),
        f"`{shown.test}`",
    )


def _seconds(shown: Shown) -> str:
    if isinstance(shown.seconds, str):
        return shown.seconds
    return f"{shown.seconds:.1f}{', busy' if shown.is_of_busy_machine else ''}"


def _vm_states(states: frozenset[VmState]) -> str:
    left = [state for state in VmState if state not in states]
    if states == ANY_VM:
        return "any"
    return f"any but {_named(left)}" if len(left) < 3 else _named(states)


def _during(tasks: frozenset[TaskState]) -> str:
    if tasks == NO_TASK:
        return NONE
    left = [task for task in TaskState if task not in tasks and task]
    if not left:
        return "any"
    return f"any but {_named(left)}" if len(left) < len(TaskState) // 2 else _named(task for task in tasks if task)


def _tasks(rule: ActionRule) -> str:
    ordered = [rule.task, *(step.task for step in rule.steps), *rule.later_tasks]
    return ", ".join(f"`{task}`" for task in dict.fromkeys(ordered) if task) or NONE


def _ends_in(rule: ActionRule) -> str:
    if said := SHOWN_BY[rule.name].ends_in:
        return said
    if rule.vm_state_after is None:
        return "the same"
    stays = f"; {_named(rule.comes_back_to)} stays so" if rule.comes_back_to else ""
    return f"{_named([rule.vm_state_after])}{stays}"


def _named(states: Iterable[str | None]) -> str:
    order: list[str] = [*VmState, *TaskState]
    found = sorted((state for state in states if state), key=order.index)
    return ", ".join(f"`{state}`" for state in found) or NONE
