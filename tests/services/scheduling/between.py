"""Something that happens at the worst moment: after a look at the fleet, before the claim that follows it."""

from collections.abc import Callable
from typing import Any

Act = Callable[[], None]


class BetweenReadAndClaim:
    """An `execute_wrapper`: `act` runs once after each look, before the first savepoint (which is the claim's);
    `before` before the look."""

    def __init__(self, act: Act, before: Act | None = None) -> None:
        self.act, self.before = act, before
        self.has_read = self.is_busy = False

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if not self.is_busy and "scheduling_fleetchange" in sql:
            self._run(self.before)
            self.has_read = True
        elif not self.is_busy and self.has_read and sql.startswith("SAVEPOINT"):
            self.has_read = False
            self._run(self.act)
        return execute(sql, params, many, context)

    def _run(self, act: Act | None) -> None:
        self.is_busy = True
        if act is not None:
            act()
        self.is_busy = False
