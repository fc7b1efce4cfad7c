"""Every end of a transaction as a point of the drill, without a line in any service.

Around each commit, and around each write outside a transaction, there is a point named after the function of ours that
is innermost on the stack: `servers.instances.services.delete.instance_delete:before-commit`.
"""

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from controlplane.kernel.kill_points import reach

APPS = ("servers", "scheduling", "placement", "computeagent", "controlplane")
CARRIERS = frozenset({"controlplane.infra.db"})
"""Modules that end transactions for others, who give the point its name."""
WRITES = ("INSERT", "UPDATE", "DELETE")


def install() -> None:
    """Install the points: once per process, before the first query, and only where it takes part in a drill."""
    # Where all backends meet: whichever way a transaction ends well, it ends here.
    BaseDatabaseWrapper._commit = _with_points(BaseDatabaseWrapper._commit)  # type: ignore[attr-defined]
    connection_created.connect(_watch, dispatch_uid=__name__)


def _with_points(commit: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(commit)
    def committed(self: Any) -> Any:
        name = current_function(sys._getframe(1))
        reach(f"{name}:before-commit")
        answer = commit(self)
        reach(f"{name}:after-commit")
        return answer

    return committed


def _watch(connection: BaseDatabaseWrapper, **_signal: object) -> None:
    if _around_write not in connection.execute_wrappers:
        connection.execute_wrappers.append(_around_write)


def _around_write(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
    alone = context["connection"].get_autocommit() and str(sql).lstrip()[:6].upper() in WRITES
    if not alone:
        return execute(sql, params, many, context)
    name = current_function(sys._getframe(1))
    reach(f"{name}:before-write")
    answer = execute(sql, params, many, context)
    reach(f"{name}:after-write")
    return answer


def current_function(frame: FrameType | None) -> str:
    """The innermost function of ours at or above `frame`, as module.function; "other" when there is none."""
    while frame is not None:
        decorated = _decorated(frame)
        module = decorated.__module__ if decorated else str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in APPS and module not in {__name__, *CARRIERS}:
            return f"{module}.{decorated.__qualname__ if decorated else frame.f_code.co_qualname}"
        frame = frame.f_back
    return "other"


def _decorated(frame: FrameType) -> Any:
    """What `@transaction.atomic` decorates: it has returned already, and only the decorator's frame knows it."""
    is_decorator = frame.f_code.co_name == "inner" and frame.f_globals.get("__name__") == "contextlib"
    return frame.f_locals.get("func") if is_decorator else None
