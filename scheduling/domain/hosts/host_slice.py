"""A slice of the host table on its way through the filters, and the refusals it leaves behind."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from controlplane.kernel.reasons import Refusal, RefusalReason, Value
from scheduling.domain.columns import BoolArray, FloatArray, IntArray, Interned
from scheduling.domain.hosts.host_state import HostState
from scheduling.domain.hosts.host_table import HostTable

Number = TypeVar("Number", bound=np.generic)
V = TypeVar("V")


@dataclass(frozen=True, slots=True, eq=False)
class RefusalGroup:
    """Hosts refused for the same reason. Numbers that differ by host are in arrays beside `rows`."""

    refusal: Refusal
    rows: IntArray
    available: npt.NDArray[Any] | None = None
    total: IntArray | None = None
    ratio: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def refusal_at(self, position: int) -> Refusal:
        """The whole refusal of the host at `position` in `rows`."""
        changes: dict[str, Any] = {}
        for name in ("available", "total", "ratio"):
            column = getattr(self, name)
            if column is not None:
                changes[name] = column[position].item()
        return replace(self.refusal, **changes) if changes else self.refusal


class Hosts:
    """Rows of a table that are still in the race at `stage`.

    `states` and `limits` (columns beside the table, NaN where there is none) are shared within one run.
    """

    __slots__ = ("limits", "rows", "stage", "states", "table")

    def __init__(
        self,
        table: HostTable,
        rows: IntArray,
        stage: str,
        states: dict[int, HostState],
        limits: dict[str, FloatArray] | None = None,
    ) -> None:
        self.table = table
        self.rows = rows
        self.stage = stage
        self.states = states
        self.limits = {} if limits is None else limits

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, column: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """A table's column at these rows."""
        return column if len(self.rows) == len(column) else column[self.rows]

    def state(self, row: int) -> HostState:
        """The host state of a row, made on first use."""
        found = self.states.get(row)
        if found is None:
            found = self.states[row] = HostState(self.table, row)
        return found

    def set_limit(self, name: str, column: IntArray | FloatArray) -> None:
        """Give these hosts a limit: the one that is chosen carries its value of `column` (beside the table)."""
        if name not in self.limits:
            self.limits[name] = np.full(len(self.table), np.nan)
        self.limits[name][self.rows] = column[self.rows]

    def lower_limit(self, name: str, numbers: npt.NDArray[Any]) -> None:
        """Give these hosts a limit (`numbers` beside them), where they have no lower one of that name."""
        self.set_limit(name, self.limits.get(name, np.full(len(self.table), np.nan)))
        self.limits[name][self.rows] = np.fmin(self.limits[name][self.rows], numbers)

    def mask(self, rows: IntArray) -> BoolArray:
        """Which of these hosts are among `rows`."""
        marks = np.zeros(len(self.table), dtype=np.bool_)
        marks[rows] = True
        return self.of(marks)

    def where(self, mask: BoolArray) -> "Hosts":
        """The hosts at which `mask` is true."""
        return Hosts(self.table, self.rows[mask], self.stage, self.states, self.limits)

    def only(self, rows: IntArray) -> "Hosts":
        """Those of `rows`, which ascend, that are among these hosts."""
        if not len(self):
            return self
        if len(rows) == 1:  # a later instance of a batch: by numbers this is four times faster than by columns
            place = self.rows.searchsorted(rows[0])
            is_here = place < len(self.rows) and self.rows[place] == rows[0]
            return Hosts(self.table, rows if is_here else rows[:0], self.stage, self.states, self.limits)
        at = np.minimum(np.searchsorted(self.rows, rows), len(self) - 1)
        return Hosts(self.table, rows[self.rows[at] == rows], self.stage, self.states, self.limits)

    def where_flagged(self, marks: BoolArray) -> "Hosts":
        """The hosts at which a column over the whole table is true."""
        return self.where(self.of(marks))

    def where_not(self, marks: BoolArray) -> "Hosts":
        """The hosts at which a column over the whole table is false."""
        return self.where(~self.of(marks))

    def without(self, groups: Iterable[RefusalGroup]) -> "Hosts":
        """The hosts that none of `groups` refused."""
        gone = [group.rows for group in groups]
        if not gone:
            return self
        left = np.ones(len(self.table), dtype=np.bool_)
        for rows in gone:
            left[rows] = False
        return Hosts(self.table, self.rows[self.of(left)], self.stage, self.states, self.limits)

    def refuse(
        self,
        refused: BoolArray,
        reason: RefusalReason,
        *,
        wanted: Value = None,
        available: npt.NDArray[Any] | Value = None,
        unit: str = "",
        detail: str = "",
        total: IntArray | None = None,
        ratio: FloatArray | None = None,
    ) -> list[RefusalGroup]:
        """The group of hosts where `refused` is true; arrays are beside these hosts. Empty if there is none."""
        if refused.dtype != np.bool_ or refused.shape != self.rows.shape:
            raise TypeError(f"{len(self)} answers true or false expected, not {refused.dtype} {refused.shape}")
        if not refused.any():
            return []
        same = None if isinstance(available, np.ndarray) else available
        refusal = Refusal(reason, wanted=wanted, available=same, unit=unit, detail=detail, stage=self.stage)
        return [
            RefusalGroup(
                refusal,
                self.rows[refused],
                available=available[refused] if isinstance(available, np.ndarray) else None,
                total=None if total is None else total[refused],
                ratio=None if ratio is None else ratio[refused],
            )
        ]

    def refuse_by(self, column: Interned[V], judge: Callable[[V], Refusal | None]) -> list[RefusalGroup]:
        """Ask `judge` once for each distinct value these hosts have; None lets a host pass."""
        if not len(self):
            return []
        codes = self.of(column.codes)
        present = np.bincount(codes, minlength=len(column.values)) > 0
        verdicts: dict[Refusal, int] = {}
        answers = np.zeros(len(column.values), dtype=np.int64)
        for code in np.flatnonzero(present):
            refusal = judge(column.values[code])
            if refusal is not None:
                answers[code] = verdicts.setdefault(refusal, len(verdicts) + 1)
        if not verdicts:
            return []
        by_host = answers[codes]
        return [
            RefusalGroup(replace(refusal, stage=self.stage), self.rows[by_host == number])
            for refusal, number in verdicts.items()
        ]


def refuse_in_turn(hosts: Hosts, rules: Iterable[Callable[[Hosts], list[RefusalGroup]]]) -> list[RefusalGroup]:
    """Apply rules one after the other, each to the hosts that the former ones left: each host has its first refusal
    only.
    """
    groups: list[RefusalGroup] = []
    for rule in rules:
        refused = rule(hosts)
        groups += refused
        hosts = hosts.without(refused)
        if not len(hosts):
            break
    return groups
